package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/internal/config"
	"github.com/plimsoll-go/plimsoll/proxy"
	"github.com/plimsoll-go/plimsoll/telemetry"
)

// defaultAdmin is reachable from the same host only: the page says more than
// strangers should know.
const defaultAdmin = "127.0.0.1:8081"

func serveCommand() *cobra.Command {
	var file string
	f := config.Flags{
		Listen: ":8080", Admin: defaultAdmin, Order: "priority", Door: "priority", Mode: "enforce",
		ClassHeader: "X-Class", Deadline: time.Second, Protocol: "auto", AccessLog: "off",
	}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Put a bound before a service: a reverse proxy that decides whose work survives",
		Long: `Serve is a reverse proxy for HTTP/1.1, HTTP/2, gRPC and WebSocket. It admits as
much as the service behind it can do in time, lets a bounded number of calls
wait, and refuses the rest at once, saying why.

With -c everything is in a file (see plimsoll check). Without, the flags describe
one pool with the classes critical and background. A call is critical when its
class header says so and it comes from loopback or a network given by --trust;
every other call is background.

Left out, --slots is one more than --workers, which hides the turn-around between
an answer and the next request, and --waiting is what the deadline can bear.

SIGTERM and SIGINT drain: new calls are refused, running ones end. A second
signal ends the process at once. SIGHUP reads the file again (not on Windows,
which has no such signal); a file with an error changes nothing.`,
		Example: `  plimsoll serve -c plimsoll.yaml
  plimsoll serve --listen :8080 --upstream http://127.0.0.1:9000 --workers 4
  plimsoll serve --listen :8080 --upstream http://127.0.0.1:9000 --workers 1 --slots 2 \
    --waiting 17 --deadline 200ms --expected 10ms --class-header X-Class --trust 10.0.0.0/8`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			load, err := serveSource(c.Flags(), file, f, c.ErrOrStderr())
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

func serveFlags(fs *pflag.FlagSet, file *string, f *config.Flags) {
	fs.StringVarP(file, "config", "c", "", "configuration file; excludes all other flags")
	fs.StringVar(&f.Listen, "listen", f.Listen, "address that users reach; port 0 takes a free one")
	fs.StringVar(&f.Upstream, "upstream", "", "URL of the service, http:// or https://")
	fs.IntVar(&f.Workers, "workers", 0, "calls that the service really works on at once")
	fs.IntVar(&f.Slots, "slots", 0, "calls that may be out at once (default workers + 1)")
	fs.IntVar(&f.Waiting, "waiting", 0, "calls that may wait (default what the deadline can bear)")
	fs.StringVar(&f.Order, "order", f.Order, "who of the waiting runs next: fifo, priority or lifo")
	fs.StringVar(&f.Door, "door", f.Door, "what happens when all places are taken: blind or priority")
	fs.StringVar(&f.Mode, "mode", f.Mode, "enforce, shadow (decide and count only) or off")
	fs.StringVar(&f.ClassHeader, "class-header", f.ClassHeader, "header that names a call's class")
	fs.DurationVar(&f.Deadline, "deadline", f.Deadline, "time after which an answer is worthless")
	fs.DurationVar(&f.Expected, "expected", 0, "how long a call runs (default learnt)")
	fs.StringSliceVar(&f.Trust, "trust", nil, "network whose class header is believed, beside loopback; may be repeated")
	fs.StringVar(&f.Admin, "admin", f.Admin, `address of /livez, /readyz, /metrics and /statusz; "off" for none`)
	fs.StringVar(&f.Protocol, "protocol", f.Protocol, "protocol of the upstream: auto, http1 or h2c")
	fs.StringVar(&f.AccessLog, "access-log", f.AccessLog, "a line for each call on standard output: json, text or off")
}

// serveSource is where the configuration comes from, now and at a reload.
func serveSource(fs *pflag.FlagSet, file string, f config.Flags, stderr io.Writer) (func() (*config.Config, error), error) {
	if file != "" {
		var other []string
		fs.Visit(func(fl *pflag.Flag) {
			if fl.Name != "config" {
				other = append(other, "--"+fl.Name)
			}
		})
		if len(other) > 0 {
			return nil, fmt.Errorf("serve: %s beside -c; a file says everything, so either is allowed", strings.Join(other, " "))
		}
		return func() (*config.Config, error) { return config.Load(file) }, nil
	}
	if f.Upstream == "" {
		return nil, errors.New("serve: neither -c FILE nor --upstream URL; see plimsoll serve --help")
	}
	f.Set = map[string]bool{}
	fs.VisitAll(func(fl *pflag.Flag) {
		f.Set[fl.Name] = fl.Changed || fl.DefValue != "" && fl.DefValue != "0" && fl.DefValue != "0s" && fl.DefValue != "[]"
	})
	fillFlags(&f, stderr)
	return func() (*config.Config, error) { return config.FromFlags(f) }, nil
}

// fillFlags works out what was not said, and says what it took.
func fillFlags(f *config.Flags, stderr io.Writer) {
	if f.Admin == "off" {
		f.Admin, f.Set["admin"] = "", false
	}
	if !f.Set["slots"] && f.Workers > 0 {
		f.Slots, f.Set["slots"] = f.Workers+1, true
	}
	if !f.Set["waiting"] && f.Slots > 0 {
		workers := f.Workers
		if workers == 0 {
			workers = f.Slots
		}
		f.Waiting, f.Set["waiting"] = bearable(workers, f.Slots, f.Deadline, f.Expected), true
		fmt.Fprintf(stderr, "plimsoll: serve: --slots %d --waiting %d\n", f.Slots, f.Waiting)
	}
}

// waitingUnknown is how many calls wait for each worker while nobody knows how
// long a call runs. What waits in vain expires all the same.
const waitingUnknown = 32

// bearable is how many calls can wait and still be answered in time: of what
// the workers do within the deadline, one is left as a margin, because work
// planned to end exactly at its deadline ends late half of the time.
func bearable(workers, slots int, deadline, expected time.Duration) int {
	if expected <= 0 || deadline <= 0 {
		return waitingUnknown * workers
	}
	inSystem := int64(workers)*int64(deadline)/int64(expected) - 1
	return int(max(inSystem-int64(slots), 0))
}

// daemon is one run of serve.
type daemon struct {
	load           func() (*config.Config, error)
	file           string // empty for flags
	stdout, stderr io.Writer
	cfg            *config.Config
	gate           *plimsoll.Gate
	server         *proxy.Server
	logFile        io.Closer // nil for none
}

func (d *daemon) say(format string, args ...any) {
	fmt.Fprintf(d.stderr, "plimsoll: serve: "+format+"\n", args...)
}

// run serves until a signal, or until ctx is done, and drains.
func (d *daemon) run(ctx context.Context) error {
	var err error
	if d.cfg, err = d.load(); err != nil {
		return usageError(err)
	}
	for _, w := range d.cfg.Warnings {
		d.say("%s", w.In(d.file))
	}
	if err := d.build(); err != nil {
		return err
	}
	defer d.gate.Close()
	users, admin, err := d.listen()
	if err != nil {
		d.server.Close()
		d.closeLog()
		return err
	}
	// Before the addresses are said: whoever reads them may signal at once.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, append([]os.Signal{os.Interrupt, syscall.SIGTERM}, reloadSignals()...)...)
	defer signal.Stop(signals)
	failed := make(chan error, 2)
	go func() { failed <- d.server.Serve(users) }()
	if admin != nil {
		go func() { failed <- d.server.ServeAdmin(admin) }()
	}
	d.announce(users, admin)
	err = d.wait(ctx, signals, failed)
	d.closeLog()
	return err
}

// build makes the gate and the server, which do not listen yet.
func (d *daemon) build() error {
	var err error
	if d.gate, err = plimsoll.New(d.cfg.Gate); err != nil {
		return usageError(err)
	}
	c, err := proxyConfig(d.cfg, d.gate)
	if err != nil {
		d.gate.Close()
		return usageError(err)
	}
	c.Notes = func(line string) { d.say("%s", line) }
	if err := d.openLog(&c); err != nil {
		d.gate.Close()
		return err
	}
	collector := telemetry.NewCollector(d.gate.Status, func() telemetry.Proxy { return telemetry.Proxy(d.server.Counts()) })
	c.Metrics = telemetry.Handler(telemetry.Registry(collector))
	if d.server, err = proxy.New(c); err != nil {
		d.gate.Close()
		d.closeLog()
		return usageError(err)
	}
	return nil
}

// openLog opens the access log.
func (d *daemon) openLog(c *proxy.Config) error {
	l := d.cfg.AccessLog
	if l.Format == "off" {
		return nil
	}
	c.AccessLogText = l.Format == "text"
	if l.Path == "-" {
		c.AccessLog = d.stdout
		return nil
	}
	f, err := os.OpenFile(l.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("serve: access log: %w", err)
	}
	c.AccessLog, d.logFile = f, f
	return nil
}

func (d *daemon) closeLog() {
	if d.logFile != nil {
		d.logFile.Close()
	}
}

// listen takes both addresses before anything is served at either.
func (d *daemon) listen() (users, admin net.Listener, err error) {
	if users, err = net.Listen("tcp", d.cfg.Listen); err != nil {
		return nil, nil, fmt.Errorf("serve: %w", err)
	}
	if d.cfg.Admin == "" {
		return users, nil, nil
	}
	if admin, err = net.Listen("tcp", d.cfg.Admin); err != nil {
		users.Close()
		if d.file == "" && d.cfg.Admin == defaultAdmin {
			return nil, nil, fmt.Errorf("serve: %w; this is the default address of the admin listener: choose another with --admin HOST:PORT, or none with --admin off", err)
		}
		return nil, nil, fmt.Errorf("serve: admin listener: %w", err)
	}
	return users, admin, nil
}

// announce says the addresses, which is news when a port was 0.
func (d *daemon) announce(users, admin net.Listener) {
	scheme, at := "http", "none"
	if d.cfg.TLS != nil {
		scheme = "https"
	}
	if admin != nil {
		at = "http://" + admin.Addr().String()
	}
	d.say("listening at %s://%s, upstream %s, admin %s", scheme, users.Addr(), d.cfg.Upstream.URL.Redacted(), at)
}

// wait handles signals until the first that ends the server.
func (d *daemon) wait(ctx context.Context, signals <-chan os.Signal, failed <-chan error) error {
	for {
		select {
		case s := <-signals:
			if isReload(s) {
				d.reload()
				continue
			}
			d.say("%v: draining; once more ends at once", s)
			return d.drain(signals)
		case <-ctx.Done():
			return d.drain(signals)
		case err := <-failed:
			d.server.Close()
			return err
		}
	}
}

// drain takes the server down within the configured time, or at once with the
// next signal.
func (d *daemon) drain(signals <-chan os.Signal) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), d.cfg.Drain.Accept+d.cfg.Drain.Grace,
		errors.New("the grace is over"))
	defer cancel()
	ctx, now := context.WithCancelCause(ctx)
	done := make(chan error, 1)
	go func() { done <- d.server.Shutdown(ctx) }()
	for {
		select {
		case err := <-done:
			now(nil)
			if err != nil {
				return fmt.Errorf("serve: work was broken off: %w", err)
			}
			d.say("drained")
			return nil
		case s := <-signals:
			if !isReload(s) {
				now(fmt.Errorf("%v again", s))
			}
		}
	}
}

// reload reads the configuration again. What is wrong with it is said, and
// nothing changes.
func (d *daemon) reload() {
	if d.file == "" {
		d.say("reload: there is no file to read again; flags cannot change")
		return
	}
	next, err := d.load()
	if err == nil {
		err = d.apply(next)
	} else {
		d.server.NoteReloadError()
	}
	if err != nil {
		d.say("reload: nothing was changed: %v", err)
		return
	}
	for _, w := range next.Warnings {
		d.say("%s", w.In(d.file))
	}
	d.say("reload: %s is in force", d.file)
}

// apply makes next the configuration, except for what a running server cannot
// change; that is said and not done in silence.
func (d *daemon) apply(next *config.Config) error {
	old := d.cfg
	c, err := proxyConfig(next, d.gate)
	if err != nil {
		return err
	}
	c.Notes = func(line string) { d.say("%s", line) }
	if err := d.server.Reload(c); err != nil {
		return err
	}
	for _, k := range []struct {
		key     string
		changed bool
	}{
		{"listen", next.Listen != old.Listen}, {"admin", next.Admin != old.Admin},
		{"access_log", next.AccessLog != old.AccessLog},
		{"timeouts.read_header", next.Timeouts.ReadHeader != old.Timeouts.ReadHeader},
		{"timeouts.idle", next.Timeouts.Idle != old.Timeouts.Idle},
	} {
		if k.changed {
			d.say("reload: %s stays what it was until a restart", k.key)
		}
	}
	d.cfg = next
	return nil
}
