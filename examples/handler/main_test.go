package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

// One slot and nowhere to wait: while one request runs, the next is refused,
// and never reaches the handler.
func TestHandler(t *testing.T) {
	gate, err := plimsoll.New(plimsoll.Bounded(1, 0, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	admit, err := protect(gate)
	if err != nil {
		t.Fatal(err)
	}
	defer admit.Close()
	entered, leave := make(chan string, 9), make(chan bool)
	server := httptest.NewUnstartedServer(admit.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- r.URL.Path
		<-leave
		work(w, r)
	})))
	server.Config.ConnContext = httpgate.ConnContext
	server.Start()
	defer server.Close()

	first := make(chan string)
	go func() {
		body, _ := get(t, server.URL+"/reports/1")
		first <- body
	}()
	<-entered
	body, answer := get(t, server.URL+"/checkout/1")
	if answer.StatusCode != http.StatusTooManyRequests || !strings.Contains(answer.Header.Get("Plimsoll-Refusal"), "reason=full; class=critical; executed=?0") {
		t.Errorf("%s %v %s; want a refusal of a critical request as full", answer.Status, answer.Header, body)
	}
	close(leave)
	if got := <-first; got != "done: /reports/1\n" {
		t.Errorf("the admitted request got %q", got)
	}
	if len(entered) > 0 {
		t.Errorf("the refused request reached the handler: %s", <-entered)
	}
}

func get(t *testing.T, url string) (string, *http.Response) {
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return "", &http.Response{}
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b), r
}
