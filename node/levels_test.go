package node

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// The log can have more for some time, but not less than by its setting: it must have what is done from the console.
func TestLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		level := &slog.LevelVar{}
		l := levels{log: slog.New(leveled{slog.DiscardHandler, level})}
		check := func(want slog.Level) {
			t.Helper()
			if got := level.Level(); got != want {
				t.Errorf("level %v, want %v", got, want)
			}
		}
		raised := func(want string, lasts time.Duration) {
			t.Helper()
			got, until := l.raised()
			if got != want || until.IsZero() != (want == "") || want != "" && time.Until(until) != lasts {
				t.Errorf("raised to %q until %v, want %q for %v", got, until, want, lasts)
			}
		}
		raised("", 0)
		for _, quieter := range []string{"warn", "error"} {
			if err := l.set(quieter, time.Minute); err == nil {
				t.Errorf("%s is accepted", quieter)
			}
			check(slog.LevelInfo)
		}
		if err := l.set("debug", time.Minute); err != nil {
			t.Error(err)
		}
		if err := l.set("error", time.Hour); err == nil {
			t.Error("error is accepted while debug is in force")
		}
		check(slog.LevelDebug)
		raised("debug", time.Minute)
		l.usually(slog.LevelWarn)
		check(slog.LevelDebug)
		time.Sleep(2 * time.Minute)
		check(slog.LevelWarn)
		raised("", 0)
		if err := l.set("info", time.Minute); err != nil {
			t.Error(err)
		}
		check(slog.LevelInfo)
		if err := l.set("warn", time.Minute); err != nil { // which ends the other
			t.Error(err)
		}
		raised("", 0)
		check(slog.LevelWarn)
		time.Sleep(2 * time.Minute)
		check(slog.LevelWarn)
	})
}
