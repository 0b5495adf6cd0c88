package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/plimsoll-go/plimsoll"
)

// text is a message of the test service.
func text(s string) *wrapperspb.StringValue { return wrapperspb.String(s) }

// grpcUpstream is a service without generated code: /test.T/Unary and /test.T/Stream.
type grpcUpstream struct {
	keeper   *gatekeeper
	deadline chan time.Duration
	metadata chan metadata.MD
}

func (u *grpcUpstream) unary(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	in := text("")
	if err := decode(in); err != nil {
		return nil, err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	u.metadata <- md
	if d, ok := ctx.Deadline(); ok {
		u.deadline <- time.Until(d)
	}
	grpc.SetTrailer(ctx, metadata.Pairs("x-trailer", "yes"))
	switch in.Value {
	case "fail":
		return nil, status.Error(codes.FailedPrecondition, "no")
	case "hold":
		u.keeper.entered <- "hold"
		<-u.keeper.leave
	}
	return text("re: " + in.Value), nil
}

func (u *grpcUpstream) stream(_ any, s grpc.ServerStream) error {
	for {
		in := text("")
		if err := s.RecvMsg(in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(text("re: " + in.Value)); err != nil {
			return err
		}
	}
}

func startGRPC(t *testing.T, u *grpcUpstream) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.T", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: u.unary}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", Handler: u.stream, ServerStreams: true, ClientStreams: true}},
	}, u)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func TestGRPCPassesThrough(t *testing.T) {
	u := &grpcUpstream{keeper: newGatekeeper(), deadline: make(chan time.Duration, 16), metadata: make(chan metadata.MD, 16)}
	up := startGRPC(t, u)
	b := newBench(t, setup{gate: onePool(1, 0, 5*time.Second, 0), handler: echo, change: func(c *Config) { c.Upstream = up }})
	cc, err := grpc.NewClient(b.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	t.Run("unary", func(t *testing.T) {
		var trailer metadata.MD
		out := text("")
		if err := cc.Invoke(ctx, "/test.T/Unary", text("hi"), out, grpc.Trailer(&trailer)); err != nil || out.Value != "re: hi" {
			t.Fatal(out, err)
		}
		if strings.Join(trailer["x-trailer"], "") != "yes" {
			t.Errorf("trailer %v", trailer)
		}
		if d := <-u.deadline; d > 5*time.Second || d < 4*time.Second {
			t.Errorf("the upstream has %v, the class's deadline is 5s and the client's 20s", d)
		}
		if md := <-u.metadata; len(md["plimsoll-timeout-ms"]) != 1 {
			t.Errorf("metadata %v", md)
		}
	})
	t.Run("status", func(t *testing.T) {
		err := cc.Invoke(ctx, "/test.T/Unary", text("fail"), text(""))
		if s, _ := status.FromError(err); s.Code() != codes.FailedPrecondition || s.Message() != "no" {
			t.Errorf("%v", err)
		}
	})
	t.Run("stream", func(t *testing.T) {
		s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.T/Stream")
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"one", "two", "three"} {
			if err := s.SendMsg(text(word)); err != nil {
				t.Fatal(err)
			}
			out := text("")
			if err := s.RecvMsg(out); err != nil || out.Value != "re: "+word {
				t.Fatal(out, err)
			}
		}
		s.CloseSend()
		if err := s.RecvMsg(text("")); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
	t.Run("refusal", func(t *testing.T) {
		until(t, time.Second, "the pool is empty", func() bool { return b.pool().Running == 0 })
		held := make(chan error, 1)
		go func() { held <- cc.Invoke(ctx, "/test.T/Unary", text("hold"), text("")) }()
		u.keeper.wait(t)
		var trailer metadata.MD
		err := cc.Invoke(ctx, "/test.T/Unary", text("x"), text(""), grpc.Trailer(&trailer), grpc.Header(&trailer))
		if code := status.Code(err); code != codes.ResourceExhausted || !strings.Contains(err.Error(), "full") {
			t.Errorf("%v", err)
		}
		close(u.keeper.leave)
		if err := <-held; err != nil {
			t.Error(err)
		}
	})
	until(t, time.Second, "nothing runs", func() bool { return b.pool().Running == 0 })
	if b.outcomes(plimsoll.Failed) != 0 || b.outcomes(plimsoll.OK) != 4 {
		t.Errorf("outcomes %+v", b.pool().Classes)
	}
}

func TestGRPCLate(t *testing.T) {
	u := &grpcUpstream{keeper: newGatekeeper(), deadline: make(chan time.Duration, 16), metadata: make(chan metadata.MD, 16)}
	up := startGRPC(t, u)
	b := newBench(t, setup{gate: onePool(1, 0, 150*time.Millisecond, 0), handler: echo, change: func(c *Config) { c.Upstream = up }})
	cc, err := grpc.NewClient(b.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	err = cc.Invoke(context.Background(), "/test.T/Unary", text("hold"), text(""))
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	// Either the proxy said so, and holds the call, or the upstream did, which
	// had been told how much time was left.
	close(u.keeper.leave)
	until(t, time.Second, "nothing is held", func() bool { return b.server.Counts().Held == 0 && b.pool().Running == 0 })
}
