package demo

import (
	"github.com/plimsoll-go/plimsoll/core"
)

// The classes, by their index in the gate's configuration.
const (
	critical = iota
	background
)

// classNames are in the order of the indexes.
func classNames() []string { return []string{"critical", "background"} }

// policy is what a phase tries.
type policy struct {
	id    string
	title string // completes "with …"
	about string
	door  core.Door
	order core.Order
}

func policies() []policy {
	return []policy{
		{
			"blind", "a blind door",
			"A full system refuses whoever comes; who got in runs in order of arrival.",
			core.DoorBlind, core.OrderFIFO,
		},
		{
			"priority-door", "a priority door",
			"A critical call takes the place of a background call that waits; who got in runs in order of arrival.",
			core.DoorPriority, core.OrderFIFO,
		},
		{
			"priority", "a priority door and order",
			"A critical call takes the place of a background call that waits, and runs before it.",
			core.DoorPriority, core.OrderPriority,
		},
	}
}
