package load

import (
	"net/http"
	"strings"

	"github.com/plimsoll-go/plimsoll/core"
)

// refusalHeader says on an answer that the call was refused: reason=full;
// class=background; executed=?0.
const refusalHeader = "Plimsoll-Refusal"

// refusal reads the reason of a refused call. An answer without the header, or
// with one that names no reason we know, or that says the call was executed, is
// no refusal, whatever its status.
func refusal(h http.Header) (core.Reason, bool) {
	var why core.Reason
	for part := range strings.FieldsFuncSeq(h.Get(refusalHeader), separator) {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		value = strings.Trim(value, `"`)
		switch key {
		case "reason":
			if why.UnmarshalText([]byte(value)) != nil {
				return core.NoReason, false
			}
		case "executed":
			if value != "?0" {
				return core.NoReason, false
			}
		}
	}
	return why, why != core.NoReason
}

func separator(r rune) bool { return r == ';' || r == ',' }
