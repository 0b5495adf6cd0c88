//go:build !linux

package punctual

import "time"

// fine leaves the whole stretch to yielding.
type fine struct{}

func openFine() fine            { return fine{} }
func (*fine) close()            {}
func (*fine) nap(time.Duration) {}
