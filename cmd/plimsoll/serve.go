package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-go/plimsoll/internal/config"
)

// defaultAdmin is reachable from the same host only: the page says more than
// strangers should know.
const defaultAdmin = "127.0.0.1:8081"

func serveCommand() *cobra.Command {
	var file string
	f := config.Flags{
		Listen: ":8080", Admin: defaultAdmin, Order: "priority", Door: "priority", Mode: "enforce",
		ClassHeader: "X-Class", Deadline: "1s", Protocol: "auto", AccessLog: "off",
	}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Put a bound before a service: a reverse proxy that decides whose work survives",
		Long: `Serve is a reverse proxy for HTTP/1.1, HTTP/2, gRPC and WebSocket. It admits as
much as the service behind it can do in time, lets a bounded number of calls
wait, and refuses the rest at once, saying why.

With -c everything is in a file (see plimsoll check). Without, the flags describe
one pool with the classes critical and background; --upstream and --workers are
needed. A call is critical when its class header says so and it comes from
loopback or a network given by --trust; every other call is background.

Left out, --slots is one more than --workers, which hides the turn-around between
an answer and the next request, and --waiting is what the deadline can bear, or 32
for each worker when --expected is left out too.

SIGTERM and SIGINT drain: new calls are refused, running ones end. A second
signal ends the process at once. SIGHUP reads the file again and opens the access
log anew (not on Windows, which has no such signal). A file with an error changes
nothing: what is wrong is said, and counted in /statusz and /metrics. Addresses,
the access log, timeouts.read_header, timeouts.idle and whether there is TLS
change at a restart only.`,
		Example: `  # One worker behind; how long a call takes is learnt.
  plimsoll serve --upstream http://127.0.0.1:9000 --workers 1

  # What a call takes is known, and who may say that it is critical.
  plimsoll serve --listen :8080 --upstream http://127.0.0.1:9000 --workers 4 \
    --deadline 200ms --expected 10ms --class-header X-Class --trust 10.0.0.0/8

  # First only look: decide and count, and let everything through.
  plimsoll serve --upstream http://127.0.0.1:9000 --workers 4 --mode shadow

  # From a file, after it has been checked; SIGHUP reads it again.
  plimsoll check plimsoll.yaml && plimsoll serve -c plimsoll.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			load, err := serveSource(c.Flags(), file, f)
			if err != nil {
				return usageError(err)
			}
			d := &daemon{load: load, file: file, stdout: c.OutOrStdout(), stderr: c.ErrOrStderr()}
			return d.run(c.Context())
		},
	}
	serveFlags(c.Flags(), &file, &f)
	return c
}

// serveFlags are all texts: a number that is none is said in the words of a
// file, together with whatever else is wrong.
func serveFlags(fs *pflag.FlagSet, file *string, f *config.Flags) {
	fs.StringVarP(file, "config", "c", "", "configuration `FILE`; excludes all other flags")
	fs.StringVar(&f.Listen, "listen", f.Listen, "`HOST:PORT` that users reach; port 0 takes a free one")
	fs.StringVar(&f.Upstream, "upstream", "", "`URL` of the service, http:// or https://; needed without -c")
	fs.StringVar(&f.Workers, "workers", "", "`N` calls that the service really works on at once; needed without -c")
	fs.StringVar(&f.Slots, "slots", "", "`N` calls that may be out at once (default workers + 1)")
	fs.StringVar(&f.Waiting, "waiting", "", "`N` calls that may wait (default what the deadline can bear)")
	fs.StringVar(&f.Order, "order", f.Order, "`ORDER` in which the waiting run: fifo, priority or lifo")
	fs.StringVar(&f.Door, "door", f.Door, "`DOOR` when all places are taken: blind (refuse) or priority (evict the less critical)")
	fs.StringVar(&f.Mode, "mode", f.Mode, "`MODE`: enforce, shadow (decide and count only) or off")
	fs.StringVar(&f.ClassHeader, "class-header", f.ClassHeader, "`HEADER` that names a call's class")
	fs.StringVar(&f.Deadline, "deadline", f.Deadline, "`DURATION` after which an answer is worthless, such as 200ms")
	fs.StringVar(&f.Expected, "expected", "", "`DURATION` that a call runs, such as 10ms (default learnt)")
	fs.StringArrayVar(&f.Trust, "trust", nil, "`NETWORK` whose class header is believed, beside loopback, such as 10.0.0.0/8; may be repeated")
	fs.StringVar(&f.Admin, "admin", f.Admin, "`HOST:PORT` of /livez, /readyz, /metrics and /statusz; \"off\" for none")
	fs.StringVar(&f.Protocol, "protocol", f.Protocol, "`PROTOCOL` of the upstream: auto, http1 or h2c")
	fs.StringVar(&f.AccessLog, "access-log", f.AccessLog, "`FORMAT` of a line for each call on standard output: json, text or off")
}

// serveSource is where the configuration comes from, now and at a reload.
func serveSource(fs *pflag.FlagSet, file string, f config.Flags) (func() (*config.Config, error), error) {
	var given []string
	fs.Visit(func(fl *pflag.Flag) {
		if fl.Name != "config" {
			given = append(given, "--"+fl.Name)
		}
	})
	switch {
	case file == "-":
		return nil, errors.New("serve: -c - is standard input, which could not be read again at a reload; the name of a file is needed")
	case fs.Changed("config") && file == "":
		return nil, errors.New("serve: -c is empty; the name of a file is needed")
	case file != "" && len(given) > 0:
		return nil, fmt.Errorf("serve: %s beside -c; a file says everything, so either is allowed", strings.Join(given, " "))
	case file != "":
		return func() (*config.Config, error) { return config.Load(file) }, nil
	case len(given) == 0:
		return nil, errors.New("serve: neither -c FILE nor --upstream URL --workers N; see plimsoll serve --help")
	}
	f.Set = map[string]bool{}
	fs.VisitAll(func(fl *pflag.Flag) {
		f.Set[fl.Name] = fl.Changed || fl.DefValue != "" && fl.DefValue != "[]"
	})
	return func() (*config.Config, error) { return fromFlags(f) }, nil
}

// fromFlags is the configuration of flags. Its error is in the form of the
// other errors of a command line.
func fromFlags(f config.Flags) (*config.Config, error) {
	c, err := config.FromFlags(f)
	var wrong *config.Error
	if errors.As(err, &wrong) {
		wrong.File = "serve"
		return nil, fmt.Errorf("%w\nserve: see plimsoll serve --help", wrong)
	}
	return c, err
}
