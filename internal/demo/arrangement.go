package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
	"github.com/plimsoll-go/plimsoll/proxy"
)

// classHeader names the class of a call on the wire.
const classHeader = "X-Class"

// settle is how long an arrangement may take to become idle, or to go down.
const settle = 10 * time.Second

// arrangement is an idle upstream and a fresh gate in the proxy before it: what
// `plimsoll serve` runs, on sockets of the loopback interface.
type arrangement struct {
	upstream *upstream
	gate     *plimsoll.Gate
	server   *proxy.Server
	url      string
	served   chan error
}

// arrange sets one up. The caller must close it.
func arrange(c *Config, p policy, epoch time.Time, seen plimsoll.Observer) (*arrangement, error) {
	up, err := startUpstream(service, epoch)
	if err != nil {
		return nil, err
	}
	a := &arrangement{upstream: up, served: make(chan error, 1)}
	if err := a.open(c, p, seen); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *arrangement) open(c *Config, p policy, seen plimsoll.Observer) (err error) {
	target, err := url.Parse(a.upstream.url())
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if a.gate, err = plimsoll.New(gateConfig(c, p, seen)); err != nil {
		return err
	}
	rules, err := httpgate.CompileRules([]httpgate.Rule{{When: httpgate.Match{ClassHeader: classHeader}}})
	if err != nil {
		return err
	}
	server, err := proxy.New(proxy.Config{Upstream: target, Gate: a.gate, Classify: rules, ClassHeader: classHeader})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("demo: the proxy cannot listen: %w", err), shutdown(server))
	}
	a.server, a.url = server, "http://"+l.Addr().String()
	go func() { a.served <- a.server.Serve(l) }()
	return nil
}

// gateConfig is the arrangement for a live gate: as much as the simulated
// machine is told, but for the margin, which is learnt.
func gateConfig(c *Config, p policy, seen plimsoll.Observer) plimsoll.Config {
	names := classNames()
	return plimsoll.Config{
		Pools: []plimsoll.Pool{{
			Name: "app", Slots: slots, Workers: workers, Waiting: c.waiting(),
			Order: p.order, Door: p.door, Expected: service,
		}},
		Classes: []plimsoll.Class{
			{Name: names[critical], Pool: "app", Rank: 0, Deadline: c.Deadline, Objective: objective / 100},
			{Name: names[background], Pool: "app", Rank: 1, Deadline: c.Deadline},
		},
		Default:  names[background],
		Observer: seen,
	}
}

// idle waits until nothing runs or waits any more: calls whose clients have
// gone are still being worked on.
func (a *arrangement) idle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settle, fmt.Errorf("demo: the gate was not idle after %v", settle))
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for a.busy() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (a *arrangement) busy() bool {
	if a.gate.Outstanding() > 0 {
		return true
	}
	p := a.gate.Status().Pools[0]
	return p.Running+p.Waiting > 0
}

// close takes everything down.
func (a *arrangement) close() error {
	var errs []error
	if a.server != nil {
		errs = append(errs, shutdown(a.server), <-a.served)
	}
	if a.gate != nil {
		a.gate.Close()
	}
	return errors.Join(append(errs, a.upstream.close())...)
}

func shutdown(s *proxy.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	return s.Shutdown(ctx)
}
