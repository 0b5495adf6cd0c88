package proxy

import (
	"net/http"
	"sync"
	"time"
)

// unread bounds how long one write on a stream of HTTP/2 may take. The bound on
// a connection's writes, see conn, does not see a client that reads what comes
// and leaves the window of one stream shut: then its handler, and with it the
// slot, would wait for as long as the client likes. A deadline of net/http's
// would be a total, and costs two messages for each write.
type unread struct {
	mu      sync.Mutex
	timer   *time.Timer
	writing bool
}

// begin is called before each write, end after it. Between two writes nothing is
// bounded: it is the upstream that is silent there.
func (u *unread) begin(w *answerWriter) {
	idle := w.x.set.config.WriteIdle
	if idle <= 0 || w.x.body.protocol != "HTTP/2.0" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing = true
	if u.timer == nil {
		u.timer = time.AfterFunc(idle, func() { u.cut(w.x.base) })
		return
	}
	u.timer.Reset(idle)
}

// end waits for a cut that is under way: the writer must not be touched when its
// handler has returned.
func (u *unread) end() {
	if u.timer == nil {
		return
	}
	u.timer.Stop()
	u.mu.Lock()
	u.writing = false
	u.mu.Unlock()
}

// cut resets the stream.
func (u *unread) cut(w http.ResponseWriter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.writing {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
	}
}

// lastWrite bounds what net/http sends of an answer when its handler has
// returned: the end of one, or a short one as a whole.
func lastWrite(w http.ResponseWriter, r *http.Request, idle time.Duration) {
	if r.ProtoMajor == 2 && idle > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(idle))
	}
}
