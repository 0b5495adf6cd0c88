package main

import (
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheProcessLoggerSpeaksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		restore := captureLog(&seldom{say: func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }})
		defer restore()
		for range 100 {
			log.Print("nonsense\nand its stack")
		}
		time.Sleep(time.Second)
		log.Print("once more")
		if len(said) != 2 || said[0] != "nonsense" || said[1] != "once more (and 99 lines more since the last)" {
			t.Errorf("%q", said)
		}
	})
}
