package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// Period is how often a viewer is told what has changed.
	Period = 400 * time.Millisecond
	// MaxViewers is how many may watch at once; more are told to come back.
	MaxViewers = 32
	// Patience is how long one write to a viewer may take; after that it is
	// dropped. Its browser will come back by itself.
	Patience = 3 * time.Second
	// pulse is how often a viewer hears something although nothing changes, so
	// that both ends notice when the other has gone.
	pulse = 10 * time.Second
)

//go:embed static
var static embed.FS

// Page serves the page. Its methods may be called concurrently.
type Page struct {
	source  Source
	mux     http.ServeMux
	viewers chan struct{}

	mu    sync.Mutex
	taken time.Time
	last  []byte
}

// New makes a page over source.
func New(source Source) *Page {
	p := &Page{source: source, viewers: make(chan struct{}, MaxViewers)}
	for path, file := range map[string]asset{
		"/{$}":         {"static/index.html", "text/html; charset=utf-8"},
		"/page.css":    {"static/page.css", "text/css; charset=utf-8"},
		"/page.js":     {"static/page.js", "text/javascript; charset=utf-8"},
		"/favicon.svg": {"static/favicon.svg", "image/svg+xml"},
	} {
		p.mux.Handle("GET "+path, file)
	}
	p.mux.HandleFunc("GET /snapshot.json", p.snapshot)
	p.mux.HandleFunc("GET /events", p.events)
	return p
}

// ServeHTTP serves the page itself at /, its data at /snapshot.json, and its
// changes as server-sent events at /events.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(Patience)) // a recorder in a test has none
	p.mux.ServeHTTP(w, r)
}

// Serve serves the page on l until ctx is done, and closes l. Open views are
// cut off: they are only views.
func (p *Page) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: Patience,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: %w", err)
	}
	return nil
}

// asset is an embedded file.
type asset struct{ name, kind string }

func (a asset) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b, err := static.ReadFile(a.name)
	if err != nil { // it was embedded, so this is a mistake of ours
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	_, _ = w.Write(b) // a viewer that has gone is no loss
}

func (p *Page) snapshot(w http.ResponseWriter, _ *http.Request) {
	b, err := p.current()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

// current is the newest snapshot, at most half a period old, so that the source
// is asked no more often however many watch.
func (p *Page) current() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil && time.Since(p.taken) < Period/2 {
		return p.last, nil
	}
	s := p.source.Snapshot()
	s.Headline = Headline(&s)
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("web: the snapshot cannot be written: %w", err)
	}
	p.taken, p.last = time.Now(), b
	return b, nil
}

// events streams snapshots to one viewer while it reads them.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	select {
	case p.viewers <- struct{}{}:
		defer func() { <-p.viewers }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d are watching, which is the most; try again", MaxViewers), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(Period)
	defer tick.Stop()
	view := view{w: w, control: http.NewResponseController(w)}
	for {
		b, err := p.current()
		if err != nil || view.show(b) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// view is one viewer.
type view struct {
	w       http.ResponseWriter
	control *http.ResponseController
	seen    []byte
	at      time.Time
}

// show writes b if it is news, and something small if there has been none for
// long. It takes Patience at most.
func (v *view) show(b []byte) error {
	var line []byte
	switch {
	case !bytes.Equal(b, v.seen):
		line = append(append([]byte("data: "), b...), '\n', '\n')
	case time.Since(v.at) >= pulse:
		line = []byte(": still here\n\n")
	default:
		return nil
	}
	v.seen, v.at = b, time.Now()
	if err := v.control.SetWriteDeadline(v.at.Add(Patience)); err != nil {
		return err
	}
	if _, err := v.w.Write(line); err != nil {
		return err
	}
	return v.control.Flush()
}
