// Package proxy is a reverse proxy behind a [plimsoll.Gate]: what
// `plimsoll serve` runs.
//
// Every request of a user passes the gate before anything of it is sent
// upstream; a refused one never gets there. HTTP/1.1, TLS, HTTP/2 with and
// without TLS, streaming in both directions, trailers (and so gRPC),
// informational answers and upgrades (WebSocket) pass through unchanged.
//
// # When a call ends
//
// A call's ticket ends with the end of the upstream's answer, not with its
// header, and not when its client leaves: the upstream is still at work then,
// and giving its slot away would overfill it. Such a call is held, see
// [OnAbandon]. Three kinds of calls live as long as somebody listens and have
// an accounting of their own, Config.Streams: upgraded connections and event
// streams (text/event-stream) take a slot of their pool only until the answer
// begins. A gRPC stream cannot be told from a short call by its header and
// keeps its slot to the end; give long ones a pool.
//
// # Time
//
// Until an answer begins, the call's deadline bounds it; a late one is answered
// with 504 and "Plimsoll-Effect: unknown". Once an answer has begun it is never
// cut by a total, only by silence.
//
// # Repeats
//
// The proxy repeats no call of which an effect is possible. One that changes
// nothing, or of which nothing was sent, is sent once more when the connection
// that it was sent on had been used before and turns out to be closed.
package proxy
