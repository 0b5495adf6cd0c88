package core

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Every word reads back as itself, and what is none is an error that names all.
func TestWordsReadBack(t *testing.T) {
	words := func(n int, of func(int) (fmt.Stringer, encoding.TextUnmarshaler)) {
		t.Helper()
		seen := map[string]bool{}
		for i := range n {
			v, back := of(i)
			text, err := v.(encoding.TextMarshaler).MarshalText()
			if err != nil || string(text) != v.String() || seen[v.String()] {
				t.Errorf("%d: %q, %v", i, text, err)
			}
			seen[v.String()] = true
			if err := back.UnmarshalText(text); err != nil || fmt.Sprint(reflect.ValueOf(back).Elem()) != v.String() {
				t.Errorf("%q read back as %v, %v", text, reflect.ValueOf(back).Elem(), err)
			}
			if err := back.UnmarshalText([]byte("no such word")); err == nil || !strings.Contains(err.Error(), "one of") {
				t.Errorf("accepted: %v", err)
			}
		}
		v, _ := of(n)
		if text, err := v.(encoding.TextMarshaler).MarshalText(); err == nil || !strings.Contains(v.String(), fmt.Sprint("(", n, ")")) {
			t.Errorf("%d is written as %q, shown as %q", n, text, v)
		}
	}
	words(NumReasons, func(i int) (fmt.Stringer, encoding.TextUnmarshaler) { return Reason(i), new(Reason) })
	words(NumOutcomes, func(i int) (fmt.Stringer, encoding.TextUnmarshaler) { return Outcome(i), new(Outcome) })
	words(len(doorNames), func(i int) (fmt.Stringer, encoding.TextUnmarshaler) { return Door(i), new(Door) })
	words(len(orderNames), func(i int) (fmt.Stringer, encoding.TextUnmarshaler) { return Order(i), new(Order) })
	words(len(opNames), func(i int) (fmt.Stringer, encoding.TextUnmarshaler) { return Op(i), new(Op) })
	words(len(effectNames), func(i int) (fmt.Stringer, encoding.TextUnmarshaler) { return EffectKind(i), new(EffectKind) })
}
