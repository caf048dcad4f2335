package events_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/console/events"
)

// What a node takes over from another one is one line of its log, however many jobs there are.
func TestTakeovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		taking := events.NewTakeovers(slog.New(slog.NewTextHandler(&log, nil)))
		for range 150 {
			taking.Add("n2")
			time.Sleep(20 * time.Millisecond)
		}
		taking.Add("n3")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		text := log.String()
		if strings.Count(text, "\n") != 2 || !strings.Contains(text, "event=job_taken from_node=n2 count=150 seconds=2.98") ||
			!strings.Contains(text, "from_node=n3 count=1 seconds=0") {
			t.Errorf("logged:\n%s", text)
		}
		taking.Add("n2") // another time
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if text := log.String()[len(text):]; !strings.Contains(text, "from_node=n2 count=1") {
			t.Errorf("then logged:\n%s", text)
		}
	})
}
