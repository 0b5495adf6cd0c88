package plimsoll_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-go/plimsoll"
)

func Example() {
	gate, err := plimsoll.New(plimsoll.Bounded(1, 0, 200*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Close()
	ticket, err := gate.Acquire(context.Background(), plimsoll.Request{Class: "critical"})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The only slot is taken, and nobody may wait.
	_, err = gate.Acquire(context.Background(), plimsoll.Request{Class: "background"})
	var refusal plimsoll.Refusal
	if errors.As(err, &refusal) {
		fmt.Println(refusal)
	}
	ticket.Release(plimsoll.OK)
	fmt.Println(gate.Outstanding(), "outstanding")
	// Output:
	// plimsoll: refused as full (class background, pool app); it was not started
	// 0 outstanding
}
