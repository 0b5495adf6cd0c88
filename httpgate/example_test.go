package httpgate_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/plimsoll-go/plimsoll"
	"github.com/plimsoll-go/plimsoll/httpgate"
)

// Twenty calls are in the system at most; what /checkout/ does comes first.
func Example() {
	gate, err := plimsoll.New(plimsoll.Bounded(4, 16, 200*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	defer gate.Close()
	rules, err := httpgate.CompileRules([]httpgate.Rule{
		{When: httpgate.Match{Path: "/checkout/*"}, Class: "critical"},
		{When: httpgate.Match{ClassHeader: "X-Class"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httpgate.New(httpgate.Options{Gate: gate, Classify: rules})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	shop := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served as %s", httpgate.FromContext(r.Context()).Class)
	})
	server := httptest.NewUnstartedServer(m.Wrap(shop))
	server.Config.ConnContext = httpgate.ConnContext
	server.Start()
	defer server.Close()

	for _, path := range []string{"/checkout/7", "/reports"} {
		r, err := http.Get(server.URL + path)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		fmt.Println(r.StatusCode, string(body))
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// 200 served as critical
	// 200 served as background
}

// A refusal that is one's own is written as the gate's are.
func ExampleWriteRefusal() {
	w := httptest.NewRecorder()
	httpgate.WriteRefusal(w, httptest.NewRequest("GET", "/", nil),
		plimsoll.Refusal{Reason: 1, Class: "background", RetryAfter: 3 * time.Second},
		httpgate.Overrides{})
	fmt.Println(w.Code, w.Header().Get("Retry-After"))
	fmt.Println(w.Header().Get("Plimsoll-Refusal"))
	// Output:
	// 429 3
	// reason=full; class=background; executed=?0
}
