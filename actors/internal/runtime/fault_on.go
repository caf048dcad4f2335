//go:build faults

package runtime

import (
	"os"
	"strings"
	"time"
)

// inject makes an actor of a kind fail as the file "faults" in the working directory says: "panic shard", or "hang
// shard" while the file exists. It is only part of binaries built for tests, with -tags faults.
func inject(kind string) {
	for {
		text, err := os.ReadFile("faults")
		what, of, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		switch {
		case err != nil || of != kind:
			return
		case what == "panic":
			panic("injected")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
