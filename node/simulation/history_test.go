package simulation

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// history is what happened in a simulation, and which of it must not happen.
type history struct {
	t     *testing.T
	begun time.Time
	mu    struct {
		sync.Mutex
		lines  []line
		wrong  []string
		counts map[string]int
		most   map[string]time.Duration
	}
}

type line struct {
	at   time.Duration
	text string
}

const (
	// keptLines bounds the memory of a history. The oldest half is dropped when there are more.
	keptLines = 4000
	// shownWrong is how many violations are reported for one seed.
	shownWrong = 20
)

func newHistory(t *testing.T) *history {
	h := &history{t: t, begun: time.Now()}
	h.mu.counts, h.mu.most = map[string]int{}, map[string]time.Duration{}
	return h
}

// add records an event.
func (h *history) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.lines = append(h.mu.lines, line{time.Since(h.begun), fmt.Sprintf(format, args...)})
	if len(h.mu.lines) > keptLines {
		h.mu.lines = slices.Delete(h.mu.lines, 0, keptLines/2)
	}
}

// violated records that an invariant does not hold.
func (h *history) violated(invariant, format string, args ...any) {
	text := "VIOLATED " + invariant + ": " + fmt.Sprintf(format, args...)
	h.add("%s", text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.wrong = append(h.mu.wrong, fmt.Sprintf("%v %s", time.Since(h.begun).Round(time.Millisecond), text))
}

// count counts what was done, so that a test can see that it did something.
func (h *history) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.counts[what]++
}

// took records a duration, of which the longest is kept.
func (h *history) took(what string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.most[what] = max(h.mu.most[what], d)
}

// String returns the history as text.
func (h *history) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, l := range h.mu.lines {
		fmt.Fprintf(&b, "%9.3fs %s\n", l.at.Seconds(), l.text)
	}
	return b.String()
}

// report fails the test if an invariant did not hold, and prints the history then.
func (h *history) report(seed uint64) {
	h.t.Helper()
	h.mu.Lock()
	wrong := slices.Clone(h.mu.wrong)
	h.mu.Unlock()
	if len(wrong) == 0 {
		if testing.Verbose() && *seeds == 1 {
			h.t.Logf("history of seed %d:\n%s", seed, h)
		}
		return
	}
	h.t.Errorf("history of seed %d:\n%s", seed, h)
	more := ""
	if n := len(wrong) - shownWrong; n > 0 {
		wrong, more = wrong[:shownWrong], fmt.Sprintf("\nand %d more", n)
	}
	h.t.Errorf("seed %d:\n%s%s", seed, strings.Join(wrong, "\n"), more)
}
