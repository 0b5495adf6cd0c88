package httpgate

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/core"
)

// h2c serves h over cleartext HTTP/2 and returns its address and a client.
func h2c(t *testing.T, h http.Handler) (string, *http.Client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: only, ConnContext: ConnContext, ReadHeaderTimeout: patience}
	go s.Serve(l)
	tr := &http.Transport{Protocols: only}
	t.Cleanup(func() { tr.CloseIdleConnections(); s.Close() })
	return l.Addr().String(), &http.Client{Transport: tr}
}

// In HTTP/2 a client's leaving is seen without any help, body read or not.
func TestLeavingInHTTP2(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 1), Options{}, b.serve)
	addr, c := h2c(t, x.m.Wrap(http.HandlerFunc(b.serve)))
	first := dial(t, x.server).send(get)
	<-b.in
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	defer pw.Close()
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr, pr)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if _, err := c.Do(r); err == nil {
			t.Error("an answer to who left")
		}
	}()
	x.waiting(1)
	cancel()
	<-gone
	x.waiting(0)
	if d := x.last(1); d.Outcome != core.Cancelled || d.Status != StatusClientLeft {
		t.Errorf("%+v", d)
	}
	b.out <- struct{}{}
	first.answer()
}

// A refused upload in HTTP/2 takes the stream with it and not the connection.
func TestRefusalInHTTP2(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 0), Options{}, b.serve)
	addr, c := h2c(t, x.m.Wrap(http.HandlerFunc(b.serve)))
	first := dial(t, x.server).send(get)
	<-b.in
	for range 3 {
		res, err := c.Post("http://"+addr, "text/plain", strings.NewReader(pattern(1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 429 || err != nil || !strings.Contains(string(body), `"reason":"full"`) || res.Header.Get("Connection") != "" {
			t.Errorf("%d %v %s %v", res.StatusCode, res.Header, body, err)
		}
	}
	b.out <- struct{}{}
	first.answer()
}

// A gRPC client understands the refusal and its pushback, by its own library.
func TestRefusalByGRPC(t *testing.T) {
	b := newBlocker()
	x := newRig(t, "watched", arrangement(1, 0), Options{}, b.serve)
	addr, _ := h2c(t, x.m.Wrap(http.HandlerFunc(b.serve)))
	first := dial(t, x.server).send(get)
	<-b.in
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, s := range []struct {
		o    Options
		want codes.Code
	}{
		{Options{}, codes.ResourceExhausted},
		{Options{NoUpstream: func() bool { return true }}, codes.Unavailable},
		{Options{Statuses: map[string]map[plimsoll.Reason]int{"app": {core.Full: 503}}}, codes.ResourceExhausted},
	} {
		if err := x.m.Update(s.o); err != nil {
			t.Fatal(err)
		}
		err = conn.Invoke(ctx, "/plimsoll.Test/Call", &emptypb.Empty{}, &emptypb.Empty{})
		if st := status.Convert(err); st.Code() != s.want || !strings.HasPrefix(st.Message(), "full: ") {
			t.Errorf("%v, want %v", err, s.want)
		}
	}
	b.out <- struct{}{}
	first.answer()
}

// Trailers only: one header frame that ends the stream, with the pushback.
func TestGRPCTrailersOnly(t *testing.T) {
	f := plimsoll.Refusal{Reason: core.Full, RetryAfter: 1500 * time.Millisecond}
	addr, c := h2c(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { WriteRefusal(w, r, f, Overrides{}) }))
	res, err := c.Post("http://"+addr, "application/grpc", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got := fmt.Sprint(res.StatusCode, res.Header["Grpc-Status"], res.Header["Grpc-Retry-Pushback-Ms"], res.Trailer, res.ContentLength)
	if want := "200[8] [1500] map[] 0"; strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%s, want %s", got, want)
	}
}
