package httpgate

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// Names of headers on the wire, in canonical form.
const (
	// HeaderRefusal says on a refused call why it was refused, as a structured
	// field: reason=full; class=background; executed=?0
	HeaderRefusal = "Plimsoll-Refusal"
	// HeaderTimeout carries the time a call has left, in whole milliseconds.
	HeaderTimeout = "Plimsoll-Timeout-Ms"
	// HeaderAttempt numbers the tries of one intention, from 1.
	HeaderAttempt = "Plimsoll-Attempt"
	// HeaderIgnored says in an answer what the gate did not believe.
	HeaderIgnored = "Plimsoll-Ignored"
	// HeaderEffect is "unknown" when a call was sent and no answer came in time.
	HeaderEffect = "Plimsoll-Effect"
	// HeaderQuery names where to ask what became of an earlier attempt.
	HeaderQuery = "Plimsoll-Query"
)

// gRPC status codes.
const (
	grpcInvalidArgument   = 3
	grpcDeadlineExceeded  = 4
	grpcResourceExhausted = 8
	grpcAborted           = 10
	grpcOutOfRange        = 11
	grpcUnavailable       = 14
)

// hint is what a refusal says about trying again.
type hint uint8

const (
	hintNone  hint = iota
	hintRetry      // Retry-After, grpc-retry-pushback-ms
	hintNever      // grpc-retry-pushback-ms: -1
	hintQuery      // ask what became of the earlier attempt
)

// row is how a reason looks on the wire.
type row struct {
	status int // HTTP
	code   int // gRPC
	// contention is true for reasons that say "too many at once", which turn
	// into "unavailable" when nothing is alive behind the gate: then a balancer
	// should go elsewhere.
	contention bool
	hint       hint
	// detail says to a person what happened. It speaks of the call alone,
	// never of limits or of others.
	detail string
}

const (
	busy        = http.StatusTooManyRequests
	unavailable = http.StatusServiceUnavailable
)

// table is the wire table: the only place that maps reasons to protocols.
var table = [core.NumReasons]row{
	core.Full:          {busy, grpcResourceExhausted, true, hintRetry, "There is no place for this call now. It was not started."},
	core.Evicted:       {busy, grpcResourceExhausted, true, hintRetry, "The call gave its place to a more critical one. It was not started."},
	core.Expired:       {busy, grpcResourceExhausted, true, hintRetry, "The call waited until it could no longer finish in time. It was not started."},
	core.Hopeless:      {busy, grpcResourceExhausted, true, hintRetry, "The call could not finish in time. It was not started."},
	core.Rate:          {busy, grpcResourceExhausted, true, hintRetry, "Calls come faster than is allowed. This one was not started."},
	core.Quota:         {busy, grpcResourceExhausted, true, hintRetry, "The caller's share is used up. The call was not started."},
	core.Streams:       {busy, grpcResourceExhausted, true, hintRetry, "There are too many long-lived connections. This one was not opened."},
	core.Overloaded:    {unavailable, grpcUnavailable, false, hintRetry, "The service is short of resources. The call was not started."},
	core.Upstream:      {unavailable, grpcUnavailable, false, hintRetry, "There is nothing to send the call to. It was not started."},
	core.Store:         {unavailable, grpcUnavailable, false, hintRetry, "The record of attempts cannot vouch for this call. It was not started."},
	core.Draining:      {unavailable, grpcUnavailable, false, hintRetry, "The service is shutting down. The call was not started."},
	core.TooCostly:     {http.StatusRequestEntityTooLarge, grpcOutOfRange, false, hintNone, "The call needs more than there will ever be. It was not started."},
	core.Budget:        {busy, grpcResourceExhausted, false, hintNever, "The attempt has no calls left. This one was not started."},
	core.Deadline:      {busy, grpcResourceExhausted, false, hintNever, "The attempt has no time left. The call was not started."},
	core.UnknownEffect: {http.StatusConflict, grpcAborted, false, hintQuery, "What became of an earlier call of this attempt must be found out first. This one was not started."},
	core.InProgress:    {http.StatusConflict, grpcAborted, false, hintQuery, "The same attempt is running. This call was not started."},
	core.Conflict:      {http.StatusUnprocessableEntity, grpcInvalidArgument, false, hintNone, "The attempt's key was used with other content. The call was not started."},
}

// noAnswer is the one row that is not a refusal.
var noAnswer = row{http.StatusGatewayTimeout, grpcDeadlineExceeded, false, hintNone,
	"The call was sent and no answer came in time. Whether it had an effect is not known."}

// Status is the HTTP status of a refusal for reason, where no override says
// otherwise. dead says that nothing is alive behind the gate.
func Status(reason plimsoll.Reason, dead bool) int {
	rw := rowOf(reason)
	if dead && rw.contention {
		return unavailable
	}
	return rw.status
}

// rowOf gives a reason outside of the set, which only a caller of
// [WriteRefusal] can produce, the row of overloaded.
func rowOf(reason plimsoll.Reason) *row {
	if reason == core.NoReason || int(reason) >= len(table) {
		reason = core.Overloaded
	}
	return &table[reason]
}

// Overrides are what the writer of a refusal may know better than the table.
type Overrides struct {
	// Status replaces the table's HTTP status; 0 does not. gRPC is not affected.
	Status int
	// NoUpstream says that nothing is alive behind the gate: a refusal that
	// says "too many" says "unavailable" instead.
	NoUpstream bool
	// Query is where to ask what became of an earlier attempt, for the
	// reasons unknown-effect and in-progress; empty for nowhere.
	Query string
}

// WriteRefusal answers r with f, in HTTP or, when r is a gRPC call, in gRPC.
// It must be the only answer; headers that are set already stay, and a longer
// Retry-After among them wins. It does not deal with an unread body, as
// [Middleware.Refuse] does.
func WriteRefusal(w http.ResponseWriter, r *http.Request, f plimsoll.Refusal, o Overrides) {
	status := o.Status
	if status == 0 {
		status = Status(f.Reason, o.NoUpstream)
	}
	newPage(f.Reason, f.Class, status, o.NoUpstream).write(w, r, f, o.Query)
}

// WriteNoAnswer answers a call that was sent and not answered in time. That is
// not a refusal: the call may have had its effect.
func WriteNoAnswer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set(HeaderEffect, "unknown")
	if mime := grpcType(r); mime != "" {
		writeGRPC(w, mime, strconv.Itoa(noAnswer.code), noAnswer.detail)
		return
	}
	h.Set("Content-Type", problemType)
	w.WriteHeader(noAnswer.status)
	_, _ = w.Write(problem(noAnswer.status, noAnswer.detail, map[string]any{"effect": "unknown"}))
}

const problemType = "application/problem+json"

// page is all of a refusal that can be known beforehand. Its slices are put
// into header maps as they are; nobody changes them.
type page struct {
	status  int
	hint    hint
	refusal []string
	mime    []string
	body    []byte
	code    string // gRPC
	detail  string
}

func newPage(reason plimsoll.Reason, class string, status int, dead bool) *page {
	rw := rowOf(reason)
	if rw == &table[core.Overloaded] {
		reason = core.Overloaded
	}
	code := rw.code
	if dead && rw.contention {
		code = grpcUnavailable
	}
	field, more := "reason="+reason.String(), map[string]any{"reason": reason.String(), "executed": false}
	if class != "" { // a class that nobody knows is not said
		field, more["class"] = field+"; class="+sfItem(class), class
	}
	return &page{
		status:  status,
		hint:    rw.hint,
		refusal: []string{field + "; executed=?0"},
		mime:    []string{problemType},
		body:    problem(status, rw.detail, more),
		code:    strconv.Itoa(code),
		detail:  reason.String() + ": " + rw.detail,
	}
}

// problem is a body of RFC 9457. The title is the status's own phrase, as that
// document wants it for about:blank, the type that a body without one has.
func problem(status int, detail string, more map[string]any) []byte {
	more["status"], more["title"], more["detail"] = status, http.StatusText(status), detail
	b, err := json.Marshal(more)
	if err != nil { // strings, numbers and booleans only
		return nil
	}
	return append(b, '\n')
}

func (p *page) write(w http.ResponseWriter, r *http.Request, f plimsoll.Refusal, query string) {
	h := w.Header()
	h[HeaderRefusal] = p.refusal
	if p.hint == hintQuery && query != "" {
		h.Set(HeaderQuery, query)
	}
	if mime := grpcType(r); mime != "" {
		switch {
		case p.hint == hintNever:
			h.Set("Grpc-Retry-Pushback-Ms", "-1")
		case p.hint == hintRetry && f.RetryAfter > 0:
			h.Set("Grpc-Retry-Pushback-Ms", strconv.FormatInt(max(1, f.RetryAfter.Milliseconds()), 10))
		}
		writeGRPC(w, mime, p.code, p.detail)
		return
	}
	if p.hint == hintRetry && f.RetryAfter > 0 {
		setRetryAfter(h, f.RetryAfter)
	}
	h["Content-Type"] = p.mime
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body) // who does not take it has left
}

// writeGRPC answers with trailers only: gRPC's word for an answer that has no
// message, whose status is in the header.
func writeGRPC(w http.ResponseWriter, mime, code, message string) {
	h := w.Header()
	h.Set("Content-Type", mime)
	h.Set("Grpc-Status", code)
	h.Set("Grpc-Message", message) // printable ASCII without %, so it needs no encoding
	w.WriteHeader(http.StatusOK)
}

// setRetryAfter rounds up: coming back too early is another refusal. One that
// is there already and is later, or is a date, stays.
func setRetryAfter(h http.Header, d time.Duration) {
	s := int64((d + time.Second - 1) / time.Second)
	if have := h["Retry-After"]; len(have) > 0 {
		if n, err := strconv.ParseInt(have[0], 10, 64); err != nil || n >= s {
			return
		}
	}
	h["Retry-After"] = []string{strconv.FormatInt(s, 10)}
}

// grpcType is the content type of an answer to a gRPC call, or "" when r is none.
func grpcType(r *http.Request) string {
	v := r.Header["Content-Type"]
	if len(v) == 0 || !strings.HasPrefix(v[0], "application/grpc") {
		return ""
	}
	rest := v[0][len("application/grpc"):]
	switch {
	case rest == "" || rest[0] == '+' || rest[0] == ';':
		return "application/grpc"
	case strings.HasPrefix(rest, "-web-text"):
		return "application/grpc-web-text"
	case strings.HasPrefix(rest, "-web"):
		return "application/grpc-web"
	}
	return ""
}
