package httpgate

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/plimsoll-go/plimsoll"
)

// writer notes the status of an answer. It does itself what the server's writer can
// do, or lets http.ResponseController find it; except for http.Pusher and
// http.CloseNotifier, of which one is used by no browser and one is deprecated.
type writer struct {
	http.ResponseWriter
	call     *Call
	status   int
	hijacked bool
	// ahead is the body that was read ahead, nil otherwise.
	ahead   *ahead
	connect bool
}

// hijackWriter is a writer of HTTP/1, which alone can give its connection away.
type hijackWriter struct{ *writer }

// wrapped is w as a handler should see it.
func (w *writer) wrapped(r *http.Request) http.ResponseWriter {
	if r.ProtoMajor == 1 {
		return hijackWriter{w}
	}
	return w
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// begin notes the first status that is not informational.
func (w *writer) begin(status int) {
	if w.status != 0 || w.hijacked || status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	w.status = status
	if w.ahead != nil && w.ahead.pending() {
		// The server would wait for that read before it answers. It does not
		// when it knows that the connection ends.
		w.Header().Set("Connection", "close")
	}
	if status == http.StatusSwitchingProtocols || w.connect && status < 300 {
		w.call.shaken(plimsoll.OK)
	}
}

// WriteHeader notes the status and sends it.
func (w *writer) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write sends b, with the status 200 if there was none.
func (w *writer) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// WriteString is Write without a copy, where the server can.
func (w *writer) WriteString(s string) (int, error) {
	w.begin(http.StatusOK)
	return io.WriteString(w.ResponseWriter, s)
}

// Flush sends what is buffered.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError sends what is buffered.
func (w *writer) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// ReadFrom lets the server copy from r in its own way, sendfile for one.
func (w hijackWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	if f, ok := w.ResponseWriter.(io.ReaderFrom); ok {
		return f.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{w.ResponseWriter}, r)
}

// Hijack gives the connection away.
func (w hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.ahead != nil && w.ahead.pending() { // it would take the next bytes for the body's
		w.ahead.yield(w.ResponseWriter)
	}
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked = true
		w.call.shaken(plimsoll.OK)
	}
	return c, rw, err
}
