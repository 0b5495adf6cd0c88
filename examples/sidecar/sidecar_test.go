package sidecar_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/plimsoll-go/plimsoll/internal/config"
)

// The file stays as short as the documentation says, and `plimsoll check` has
// nothing to say about it.
func TestSidecar(t *testing.T) {
	text, err := os.ReadFile("plimsoll.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 10 {
		t.Errorf("it has %d lines; ten is what is promised", n)
	}
	c, err := config.Load("plimsoll.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range c.Warnings {
		t.Error(w)
	}
	if c.Gate.Default != "background" || len(c.Classify) != 1 {
		t.Errorf("default %q, %d rules", c.Gate.Default, len(c.Classify))
	}
}
