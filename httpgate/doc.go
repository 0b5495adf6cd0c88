// Package httpgate puts a [plimsoll.Gate] in front of an http.Handler.
//
// For each request [Middleware.Wrap] decides its class, asks the gate, and
// then either calls the next handler or writes a refusal. A refused request
// never reaches the next handler.
//
// # What the caller owes
//
//   - [ConnContext] belongs into http.Server.ConnContext. It lets a waiting
//     request with an unread body be watched for its client's leaving.
//   - [Middleware.Close], after the server has been shut down.
//   - [Middleware.Update], after the gate has been reloaded.
//   - Handlers outside of this one that wrap the writer give it the method
//     Unwrap. Without it no deadline can be set: a refused request with an
//     unread body then costs its connection, and nothing is read ahead.
//   - A handler that takes a connection over and returns while somebody else
//     serves it calls [Call.Hold] first. The limit on streams counts calls
//     that have not ended, and a call ends with its handler.
//   - http.Server.ReadHeaderTimeout. No middleware can bound the reading of a
//     header: it has not been called yet.
//
// # Clients that leave while they wait
//
// net/http cancels a request's context when the client closes its connection,
// except in HTTP/1 while the body is unread: then nobody reads the connection,
// and nobody sees its end. Such a request would keep its place and be started
// for nobody. So while it waits, and only then,
//
//   - on Linux, with [ConnContext] installed, the socket is watched for the
//     peer's half of the connection ending (POLLRDHUP; under TLS that of the
//     connection below). Nothing is read, and no memory is held. A client that
//     closes only its sending half counts as gone; net/http does the same once
//     a body has been read.
//   - elsewhere up to [AheadMax] bytes of the body are read, within
//     Options.AheadBytes for all requests together. When this reaches the end
//     of the body, net/http itself watches the connection from there on. The
//     next handler reads the same bytes as without.
//
// What is lost: a client that leaves behind more unsent data than the socket's
// receive buffer takes (some 128 KiB unless
// configured otherwise on Linux), since its end is then queued behind that data; and,
// where the socket cannot be watched, a client with a longer body than is read
// ahead, and one that sent Expect: 100-continue, whose body must not be
// touched before it has been admitted; and everywhere one that has sent its
// next request already, without waiting for the answer to this one. These give up their place when they
// expire, at the latest.
//
// # Trust
//
// Headers in which a client speaks of its own importance are believed from
// trusted peers only: from loopback unless Options.Trust says otherwise. What
// was ignored is said in the header Plimsoll-Ignored of the answer and in
// [Call.Ignored]. A deadline is believed from everybody, because it can only
// shorten: no call gets more than its class's deadline.
//
// # Connections that live long
//
// A request for an upgrade (WebSocket) or a tunnel (CONNECT) would hold a slot
// for as long as somebody keeps a page open. It is admitted against a limit of
// its own, see [StreamGate], and takes nothing from the pools.
package httpgate
