package main

import (
	"net"
	"os"
	"strings"
	"testing"
)

func TestThePageFindsAnotherPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var said strings.Builder
	l, err := listenNear(taken.Addr().String(), &said)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if host, _, err := net.SplitHostPort(l.Addr().String()); err != nil || host != "127.0.0.1" {
		t.Errorf("the page went to %v", l.Addr())
	}
	if !strings.Contains(said.String(), "another port than "+taken.Addr().String()) {
		t.Errorf("it was not said: %q", said.String())
	}
}

// An address that is not ours has no other port that would do.
func TestThePageSaysThatItCannotBeServed(t *testing.T) {
	var said strings.Builder
	l, err := listenNear("192.0.2.1:8090", &said) // reserved for documentation
	if err == nil {
		l.Close()
		t.Skip("left out: this machine listens at any address")
	}
	if !strings.Contains(err.Error(), "choose another --addr, or --no-web") {
		t.Errorf("got %v", err)
	}
}

// Whoever writes into a pipe, a file or nowhere is not kept waiting for Ctrl-C.
func TestNobodyLooks(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if isTerminal(null) || isTerminal(w) || isTerminal(&strings.Builder{}) {
		t.Errorf("null %v, pipe %v, builder %v; nobody looks at any of them", isTerminal(null), isTerminal(w), isTerminal(&strings.Builder{}))
	}
}
