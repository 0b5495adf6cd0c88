package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Shutdown takes the server down without breaking work off. Readiness turns to
// no at once, while calls are still accepted for Config.DrainAccept. Then new
// calls are refused as draining, WebSockets are told 1001 (going away), and
// running, held and waiting calls may end. When ctx is done before that, what
// is left is closed and the context's cause returned.
//
// Only the first call does anything; others return nil at once.
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	s.shutdown.Do(func() { err = s.drain(ctx) })
	return err
}

func (s *Server) drain(ctx context.Context) error {
	s.draining.Store(true)
	s.acceptFor(ctx, s.current.Load().config.DrainAccept)
	s.users.SetKeepAlivesEnabled(false) // each answer tells its client to go elsewhere
	s.tunnels.leave()
	err := s.gate.Drain(ctx)
	if e := s.streams.Drain(ctx); err == nil {
		err = e
	}
	if e := s.users.Shutdown(ctx); err == nil {
		err = e
	}
	s.users.Close()
	s.tunnels.close()
	s.held.close()
	s.log.close()
	s.middleware.Close()
	s.streams.Close()
	s.current.Load().upstream.close()
	s.admin.Close()
	if err != nil {
		return fmt.Errorf("proxy: drain: %w", err)
	}
	return nil
}

// acceptFor waits while everything goes on as before.
func (s *Server) acceptFor(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Close ends the server at once: connections are closed as they are.
func (s *Server) Close() error {
	gone, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("closed"))
	return s.Shutdown(gone)
}
