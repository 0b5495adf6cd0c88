package proxy

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// listener counts the connections it hands out and gives each the patience of
// the server for clients that do not read.
type listener struct {
	net.Listener
	server *Server
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.server.stats.Accepted.Add(1)
	l.server.stats.Connections.Add(1)
	return &conn{Conn: c, server: l.server}, nil
}

// conn is a client's connection whose writes cannot block for ever. net/http
// knows only a total for the writing of an answer, which would cut streams.
type conn struct {
	net.Conn
	server *Server
	// armed is when the write deadline was last set, on the server's clock;
	// 0 means that it is not set. Only one goroutine writes at a time.
	armed  atomic.Int64
	closed atomic.Bool
}

// Write arms the write deadline. Moving a deadline costs about as much as the
// rest of a small write, so it is done when an eighth of it has been used: a
// client that does not read is cut after 7/8 to 8/8 of the time.
func (c *conn) Write(p []byte) (int, error) {
	if idle := c.server.writeIdle.Load(); idle > 0 {
		now := c.server.now()
		if armed := c.armed.Load(); armed == 0 || now-armed > idle/8 {
			c.armed.Store(now)
			if err := c.Conn.SetWriteDeadline(time.Now().Add(time.Duration(idle))); err != nil {
				return 0, err
			}
		}
	}
	return c.Conn.Write(p)
}

// SetWriteDeadline and SetDeadline are what net/http does around a handshake
// and a hijack; the next Write arms its own again.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.armed.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) SetDeadline(t time.Time) error {
	c.armed.Store(0)
	return c.Conn.SetDeadline(t)
}

func (c *conn) Close() error {
	if !c.closed.Swap(true) {
		c.server.stats.Connections.Add(-1)
	}
	return c.Conn.Close()
}

// SyscallConn lets the gate watch the socket of a waiting call for a client
// that hangs up.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, syscall.EINVAL
}

// CloseWrite passes a tunnel's half-close on.
func (c *conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}
