package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll/core"
	"github.com/plimsoll-go/plimsoll/record"
)

// client makes calls on a transport of its own. It follows no redirects, keeps
// no cookies, asks for no compression and heeds no proxy settings: each would
// be measured with the target.
type client struct {
	cfg       Config
	transport *http.Transport
}

func newClient(cfg Config) *client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &client{cfg: cfg, transport: &http.Transport{
		DialContext:         dialer.DialContext,
		DisableCompression:  true,
		MaxIdleConns:        cfg.MaxOpen,
		MaxIdleConnsPerHost: cfg.MaxOpen,
		IdleConnTimeout:     30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		ReadBufferSize:      2 << 10,
		WriteBufferSize:     1 << 10,
	}}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// answer is what came back.
type answer struct {
	status int
	header http.Header
	err    error
}

// do makes one call and reads its answer to the end. When ctx ends first, the
// connection is closed.
func (c *client) do(ctx context.Context, class string) answer {
	request, err := http.NewRequestWithContext(ctx, c.cfg.Method, c.cfg.URL, nil)
	if err != nil {
		return answer{err: fmt.Errorf("load: %w", err)}
	}
	for name, values := range c.cfg.Header {
		request.Header[name] = values
	}
	if class != "" && c.cfg.ClassHeader != "" {
		request.Header.Set(c.cfg.ClassHeader, class)
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		return answer{err: fmt.Errorf("load: %w", err)}
	}
	n, err := io.Copy(io.Discard, io.LimitReader(response.Body, c.cfg.MaxBody+1))
	switch {
	case err != nil:
		err = fmt.Errorf("load: reading the answer: %w", err)
	case n > c.cfg.MaxBody:
		err = fmt.Errorf("load: the answer is longer than %d bytes", c.cfg.MaxBody)
	}
	_ = response.Body.Close() // it has been read; nothing is lost with it
	return answer{status: response.StatusCode, header: response.Header, err: err}
}

// judge says how the call ended, and completes its record.
func (a answer) judge(ctx context.Context, rec record.Record, took int64) Result {
	res := Result{Status: a.status, Header: a.header}
	rec.Service = took
	why, refused := refusal(a.header)
	switch {
	case a.err != nil && gaveUp(ctx, a.err):
		rec.Outcome, res.Err = core.Cancelled, a.err
	case a.err != nil:
		rec.Outcome, res.Err = core.Failed, a.err
	case refused:
		rec.Outcome, rec.Reason = core.Refused, why
		rec.Wait, rec.Service = took, 0
	case a.status < 200 || a.status > 299:
		rec.Outcome, res.Err = core.Failed, fmt.Errorf("load: status %d", a.status)
	case rec.End() > rec.Deadline:
		rec.Outcome = core.Late
	default:
		rec.Outcome = core.OK
	}
	res.Record = rec
	return res
}

// gaveUp tells a client that left from a target that failed: the two can come
// at the same time, and what the transport says decides.
func gaveUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}
