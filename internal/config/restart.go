package config

import "time"

// Change is a key that a reload cannot change.
type Change struct {
	Key string
	// Bound is what is in force, Next what the configuration says.
	Bound, Next string
}

// Restart lists the keys that differ between the configuration that a server
// was started with and another, and that take effect at a restart only. The
// first must be the one that the addresses were bound with, and not one that
// was reloaded since.
func Restart(bound, next *Config) []Change {
	var out []Change
	add := func(key, was, is string) {
		if was != is {
			out = append(out, Change{Key: key, Bound: was, Next: is})
		}
	}
	span := func(key string, was, is time.Duration) { add(key, showDuration(was), showDuration(is)) }
	add("listen", bound.Listen, next.Listen)
	add("admin.listen", orNone(bound.Admin), orNone(next.Admin))
	span("timeouts.read_header", bound.Timeouts.ReadHeader, next.Timeouts.ReadHeader)
	span("timeouts.idle", bound.Timeouts.Idle, next.Timeouts.Idle)
	add("access_log.format", bound.AccessLog.Format, next.AccessLog.Format)
	add("access_log.path", bound.AccessLog.Path, next.AccessLog.Path)
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
