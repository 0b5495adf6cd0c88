package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

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
plimsoll serve before it, and an open-loop load of three times as much, a quarter
of it critical. The same calls are made three times: with a door that is blind,
with one that lets critical calls take the place of waiting background calls, and
with one that also runs them first.

It prints what was measured beside what the simulator, which runs the same core
on the same arrivals, predicts. A page shows it live. Everything happens on the
loopback interface; nothing is installed and nothing is left behind.

Bursty arrivals are a second at 80/300 of the rate, then half a second at 360/300.`,
		Example: `  plimsoll demo
  plimsoll demo --arrivals poisson --duration 30s
  plimsoll demo --json --no-web | jq '.phases[].measured.critical_success_pct'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return usageError(err)
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return o.run(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.Float64Var(&o.cfg.Rate, "rate", o.cfg.Rate, "calls a second that are offered")
	f.DurationVar(&o.cfg.Duration, "duration", o.cfg.Duration, "length of each of the three phases")
	f.StringVar(&o.cfg.Arrivals, "arrivals", o.cfg.Arrivals, "constant, poisson or bursty")
	f.Int64Var(&o.cfg.Seed, "seed", o.cfg.Seed, "seed of the classes, and of poisson arrivals")
	f.DurationVar(&o.cfg.Deadline, "deadline", o.cfg.Deadline, "patience of the clients")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object instead of a table")
	f.BoolVar(&o.noWeb, "no-web", false, "serve no page")
	f.StringVar(&o.addr, "addr", "127.0.0.1:8090", "address of the page; a free port of the same host when it is taken")
	return c
}

func (o *demoOptions) validate() error {
	if err := o.cfg.Validate(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if o.noWeb {
		return nil
	}
	if _, _, err := net.SplitHostPort(o.addr); err != nil {
		return fmt.Errorf("demo: --addr is %q; HOST:PORT is expected: %w", o.addr, err)
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
		return errors.New("demo: stopped before the end, so there are no figures")
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
