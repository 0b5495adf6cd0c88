package punctual

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestUntilIsNeverEarly(t *testing.T) {
	c := New()
	defer c.Close()
	var late []time.Duration
	at := time.Now()
	for range 100 {
		at = at.Add(4100 * time.Microsecond)
		if err := c.Until(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		d := time.Since(at)
		if d < 0 {
			t.Fatalf("returned %v early", -d)
		}
		late = append(late, d)
	}
	slices.Sort(late)
	// A quiet machine shows 0.1 ms; what must hold anywhere is that half of the
	// waits beat the runtime's own timers.
	if median := late[len(late)/2]; median > 2*time.Millisecond {
		t.Errorf("half of the waits were more than %v late", median)
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	c := New()
	defer c.Close()
	if err := c.Until(ctx, time.Now().Add(time.Hour)); !errors.Is(err, cause) {
		t.Errorf("got %v, want the context's cause", err)
	}
	if err := c.Until(ctx, time.Now().Add(time.Millisecond)); !errors.Is(err, cause) {
		t.Errorf("in the last stretch: got %v, want the context's cause", err)
	}
}

func TestUntilAnInstantThatHasPassed(t *testing.T) {
	c := New()
	defer c.Close()
	if err := c.Until(t.Context(), time.Now().Add(-time.Second)); err != nil {
		t.Error(err)
	}
}
