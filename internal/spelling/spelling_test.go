package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"serve", "demo", "lab", "check", "class_header"}
	for s, want := range map[string]string{
		"sevre": "serve", "serv": "serve", "SERVE": "serve", "dmo": "demo", "demmo": "demo", "lba": "lab", "chekc": "check",
		"class-header": "class_header", "clas_heder": "class_header",
		"": "", "x": "", "nope": "", "ab": "", "laboratory": "", strings.Repeat("serve", 20): "",
	} {
		if got := Nearest(s, words); got != want {
			t.Errorf("%q is taken for %q, want %q", s, got, want)
		}
	}
	if got := Nearest("cat", []string{"bat", "hat"}); got != "bat" {
		t.Errorf("of two that are equally near it is %q, want the first", got)
	}
}

func TestMeant(t *testing.T) {
	if got := Meant("dmeo", []string{"demo"}); got != "; is demo meant?" {
		t.Errorf("got %q", got)
	}
	if got := Meant("other", []string{"demo"}); got != "" {
		t.Errorf("got %q", got)
	}
}
