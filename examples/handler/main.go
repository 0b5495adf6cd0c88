// Command handler is an HTTP service that protects itself: at most four
// requests are worked on at once, sixteen wait for at most 200 ms, and what
// comes beyond that is refused at once, checkout last.
//
//	go run ./examples/handler
//	curl -i http://localhost:8080/checkout/1
//	curl -i http://localhost:8080/reports/1
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

func main() {
	gate, err := plimsoll.New(plimsoll.Bounded(4, 16, 200*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	admit, err := protect(gate)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr:              "localhost:8080",
		Handler:           admit.Wrap(http.HandlerFunc(work)),
		ConnContext:       httpgate.ConnContext, // so that waiting clients that leave are seen
		ReadHeaderTimeout: 5 * time.Second,
	}
	log.Printf("listening on http://%s", server.Addr)
	log.Fatal(server.ListenAndServe())
}

// protect says whose request is critical.
func protect(gate *plimsoll.Gate) (*httpgate.Middleware, error) {
	rules, err := httpgate.CompileRules([]httpgate.Rule{
		{When: httpgate.Match{Path: "/checkout/*"}, Class: "critical"},
	})
	if err != nil {
		return nil, err
	}
	return httpgate.New(httpgate.Options{Gate: gate, Classify: rules})
}

// work is what is worth protecting. It runs only when it has been admitted.
func work(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(10 * time.Millisecond):
		fmt.Fprintf(w, "done: %s\n", r.URL.Path)
	case <-r.Context().Done(): // the client has left
	}
}
