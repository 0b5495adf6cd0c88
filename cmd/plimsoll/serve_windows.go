package main

import "os"

// reloadSignals is empty: Windows has no signal for it. The configuration
// changes with a restart.
func reloadSignals() []os.Signal { return nil }
