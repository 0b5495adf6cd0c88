package httpgate

import (
	"context"
	"errors"
	"net"
	"syscall"
)

type connKey struct{}

// ConnContext is for http.Server.ConnContext. It lets the middleware find the
// socket of a request, under TLS too, so that a client's leaving is seen while
// its request waits with an unread body. On other systems than Linux it
// changes nothing. A ConnContext of one's own calls it and returns its result.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if !canWatch {
		return ctx
	}
	raw := rawConn(c)
	if raw == nil {
		return ctx
	}
	return context.WithValue(ctx, connKey{}, raw)
}

// rawConn takes the wrappings off (tls.Conn has NetConn, and so should others)
// until there is a descriptor; nil when there is none.
func rawConn(c net.Conn) syscall.RawConn {
	for range 8 {
		if s, ok := c.(syscall.Conn); ok {
			raw, err := s.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		}
		w, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = w.NetConn()
	}
	return nil
}

// errLeft is the cause with which a waiting call is cancelled.
var errLeft = errors.New("httpgate: the client left while its call waited")

// watcher sees the peers of sockets go. It is shared by all requests of a
// middleware and starts with the first that needs it.
type watcher interface {
	// add calls left, once and on a goroutine of its own, when the peer ends
	// its half of the connection. ok is false when the socket cannot be watched.
	add(c syscall.RawConn, left func()) (id watchID, ok bool)
	// remove ends a watch. left may still be running when it returns.
	remove(c syscall.RawConn, id watchID)
	close()
}

// watchID names a watch. A slot is used again, with another generation.
type watchID struct{ slot, gen int32 }
