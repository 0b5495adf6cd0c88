package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-go/plimsoll/internal/demo"
	"github.com/plimsoll-go/plimsoll/web"
)

// demoOptions are the flags of `plimsoll demo`.
type demoOptions struct {
	cfg    demo.Config
	asJSON bool
	noWeb  bool
	addr   string
}

func demoCommand() *cobra.Command {
	o := demoOptions{cfg: demo.Defaults()}
	c := &cobra.Command{
		Use:   "demo",
		Short: "See on real sockets what a bound with a decision behind it is worth",
		Long: `Demo starts a real service that can do 100 calls a second, the proxy of
plimsoll serve before it, and a load that makes three times as many, a quarter of
them critical, and does not slow down when answers do not come. It makes the
same calls three times, under three policies:

  blind          whoever finds the system full is refused, critical or not
  priority-door  a critical call takes the place of a waiting background call
  priority       the same, and critical calls also run first

It takes about 40 seconds and prints what was measured, and beside it what the
simulator, which runs the same core on the same arrivals, predicts. A page shows
it live. Everything happens on the loopback interface; nothing is installed and
nothing is left behind. At a terminal the page stays until you press Ctrl-C.

What was stopped by Ctrl-C before the end has no figures; the exit status is 130.

Arrivals: constant is one every so many milliseconds, poisson draws them at
random, and bursty is a second at 0.27 times the rate, then half a second at 1.2
times. A length of time needs its unit: 500ms, 12s, 1m.`,
		Example: `  plimsoll demo
  plimsoll demo --arrivals poisson --duration 30s
  plimsoll demo --rate 500 --addr 127.0.0.1:0
  plimsoll demo --json --no-web | jq '.phases[].measured.critical_success_pct'`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return usageError(err)
			}
			ctx, stop := untilSignal(c.Context())
			defer stop()
			return o.run(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	o.register(c.Flags())
	return c
}

func (o *demoOptions) register(f *pflag.FlagSet) {
	rate := fmt.Sprintf("%d to %d", demo.MinRate, demo.MaxRate)
	patience := fmt.Sprintf("%v to %v", demo.MinDeadline, demo.MaxDeadline)
	f.SortFlags = false
	f.Float64Var(&o.cfg.Rate, "rate", o.cfg.Rate, "calls that are made, per second, "+rate)
	f.DurationVar(&o.cfg.Duration, "duration", o.cfg.Duration, "how long each of the three phases lasts, longer than the deadline, up to 1h")
	f.StringVar(&o.cfg.Arrivals, "arrivals", o.cfg.Arrivals, "how calls come: constant, poisson or bursty")
	f.DurationVar(&o.cfg.Deadline, "deadline", o.cfg.Deadline, "how long clients wait for an answer, "+patience)
	f.Int64Var(&o.cfg.Seed, "seed", o.cfg.Seed, "another seed draws other classes, and other poisson arrivals")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object instead of a table")
	f.BoolVar(&o.noWeb, "no-web", false, "serve no page")
	f.StringVar(&o.addr, "addr", "127.0.0.1:8090", "`HOST:PORT` of the page; another port of the host when it is taken, and port 0 is any")
	allow(f, "rate", "a number from "+rate+" calls a second, such as 300")
	allow(f, "duration", "a length of time with its unit, up to 1h, such as 500ms or 12s")
	allow(f, "deadline", "a length of time with its unit, "+patience+", such as 200ms")
	allow(f, "arrivals", "constant, poisson or bursty")
	allow(f, "addr", allowedAddr)
}

const allowedAddr = "HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:8090 or [::1]:0"

// validate says what is wrong with the flags. Nothing has been started yet.
func (o *demoOptions) validate() error {
	if err := o.cfg.Validate(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	_, port, err := net.SplitHostPort(o.addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("demo: --addr is %q; allowed is %s", o.addr, allowedAddr)
	}
	return nil
}

func (o *demoOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	live, err := demo.New(o.cfg)
	if err != nil {
		return usageError(err)
	}
	close := func() error { return nil }
	if !o.noWeb {
		if close, err = o.servePage(live, stderr); err != nil {
			return err
		}
	}
	err = o.measure(ctx, live, stdout, stderr)
	if err == nil && !o.noWeb && isTerminal(stdout) {
		fmt.Fprintln(stderr, "The page stays until you press Ctrl-C.")
		<-ctx.Done()
	}
	return errors.Join(err, close())
}

// measure runs the demo and prints what came of it.
func (o *demoOptions) measure(ctx context.Context, live *demo.Live, stdout, stderr io.Writer) error {
	result, err := live.Run(ctx, func(line string) { fmt.Fprintln(stderr, line) })
	switch {
	case ctx.Err() != nil:
		return stoppedError("demo: stopped before the end, so there are no figures")
	case err != nil:
		return err
	case o.asJSON:
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	fmt.Fprintln(stderr)
	return result.Print(stdout)
}

// servePage serves the page beside the demo, and returns what ends it.
func (o *demoOptions) servePage(source web.Source, stderr io.Writer) (end func() error, err error) {
	l, err := listenNear(o.addr, stderr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "the page is at http://%s/\n", l.Addr())
	ctx, stop := context.WithCancel(context.Background())
	var served error
	var done sync.WaitGroup
	done.Go(func() { served = web.New(source).Serve(ctx, l) })
	return func() error {
		stop()
		done.Wait()
		return served
	}, nil
}

// listenNear listens at addr, or at a free port of the same host when addr
// cannot be had, and says so.
func listenNear(addr string, stderr io.Writer) (net.Listener, error) {
	l, taken := net.Listen("tcp", addr)
	if taken == nil {
		return l, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err == nil {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("demo: the page cannot be served: %w; choose another --addr, or --no-web", taken)
	}
	fmt.Fprintf(stderr, "the page has another port than %s: %v\n", addr, taken)
	return l, nil
}

// isTerminal says whether a person is looking: a character device that is not
// the one that swallows everything.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
