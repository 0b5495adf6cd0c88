// Command library puts a gate around work that has nothing to do with HTTP: a
// hundred callers want something that two can have at a time.
//
//	go run ./examples/library
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run lets a hundred callers loose and prints what became of them.
func run(w io.Writer) error {
	gate, err := plimsoll.New(plimsoll.Bounded(2, 8, time.Second))
	if err != nil {
		return err
	}
	defer gate.Close()

	ends := make(chan string, 100)
	var callers sync.WaitGroup
	for i := range 100 {
		class := "background"
		if i%10 == 0 {
			class = "critical"
		}
		callers.Go(func() { ends <- class + " " + call(gate, class) })
	}
	callers.Wait()
	close(ends)

	counts := make(map[string]int)
	for end := range ends {
		counts[end]++
	}
	for _, end := range []string{"critical ok", "critical full", "background ok", "background evicted", "background full"} {
		fmt.Fprintf(w, "%-19s %d\n", end+":", counts[end])
	}
	return nil
}

// call does one piece of work, if it may, and says how that ended.
func call(gate *plimsoll.Gate, class string) string {
	ctx := context.Background() // the caller's, in a real program: when it ends, so does the waiting
	ticket, err := gate.Acquire(ctx, plimsoll.Request{Class: class})
	var refused plimsoll.Refusal
	if errors.As(err, &refused) {
		return refused.Reason.String() // nothing has happened; try again after refused.RetryAfter
	} else if err != nil {
		return err.Error() // ctx has ended
	}
	time.Sleep(10 * time.Millisecond) // the work
	ticket.Release(plimsoll.OK)
	return "ok"
}
