package history_test

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// reading has a counter and a gauge.
func reading(docs, sessions float64) history.Reading {
	r := history.NewReading()
	r[history.DocsWritten], r[history.Sessions] = docs, sessions
	return r
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var both = []string{"docs_written", "sessions"}

func TestHistory(t *testing.T) {
	h := history.New()
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for i, docs := range []float64{100, 150, 150, 160.5} {
		h.Add(at(5*i), reading(docs, float64(i)))
	}
	read := func(now time.Time, span time.Duration) string {
		return text(t, h.Read(both, history.Last(now, span)))
	}
	if got := read(at(15), 25*time.Second); got !=
		`{"docs_written":[null,null,10,0,2.1],"sessions":[null,0,1,2,3]}` {
		t.Error(got)
	}
	t.Run("a pause is a gap", func(t *testing.T) {
		h.Add(at(45), reading(1000, 7))
		h.Add(at(50), reading(1005, 7))
		if got := read(at(50), 40*time.Second); got !=
			`{"docs_written":[2.1,null,null,null,null,null,null,1],"sessions":[3,null,null,null,null,null,7,7]}` {
			t.Error(got)
		}
	})
	t.Run("a counter that begins again has no rate", func(t *testing.T) {
		h.Add(at(55), reading(3, 8))
		if got := read(at(55), 10*time.Second); got != `{"docs_written":[1,null],"sessions":[7,8]}` {
			t.Error(got)
		}
	})
	t.Run("minutes are means, and the current one so far", func(t *testing.T) {
		h.Add(at(60), reading(13, 10))
		h.Add(at(65), reading(43, 20))
		g := history.Last(at(65), 2*time.Hour)
		g.Start, g.Count = noon.Unix()-60, 3
		want := `{"docs_written":[null,3.275,4],"sessions":[null,4,15]}`
		if got := text(t, h.Read(both, g)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	t.Run("what is older than an hour, or later than now, is absent", func(t *testing.T) {
		h.Add(at(7200), reading(43, 9))
		if got := text(t, h.Read(both[1:], history.Range{Start: noon.Unix(), Step: 5, Count: 2})); got !=
			`{"sessions":[null,null]}` {
			t.Error(got)
		}
		if got := text(t, h.Read(both[1:], history.Range{Start: at(7200).Unix(), Step: 5, Count: 2})); got !=
			`{"sessions":[9,null]}` {
			t.Error(got)
		}
		minute := history.Range{Start: at(60).Unix(), Step: 60, Count: 1}
		if got := text(t, h.Read(both[1:], minute)); got != `{"sessions":[15]}` {
			t.Error(got)
		}
	})
	t.Run("a clock that is set back begins again", func(t *testing.T) {
		h.Add(at(100), reading(43, 5))
		h.Add(at(105), reading(53, 6))
		if got := read(at(105), 15*time.Second); got != `{"docs_written":[null,null,2],"sessions":[null,5,6]}` {
			t.Error(got)
		}
	})
	for _, g := range []history.Range{{}, {Start: 1, Step: 7, Count: 1}, {Start: 1, Step: 5, Count: 1 << 40},
		{Start: -5, Step: 5, Count: 1}} {
		if got := h.Read(both, g); len(got) != 0 {
			t.Errorf("%+v: %v", g, got)
		}
	}
	if got := h.Read([]string{"nothing"}, history.Last(noon, time.Minute)); len(got) != 0 {
		t.Error(got)
	}
}

// A node is read every five seconds, for as long as it runs.
func TestHistory_Run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.New()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		began := time.Now()
		go func() {
			defer close(done)
			h.Run(ctx, func() history.Reading { return reading(10*time.Since(began).Seconds(), 1) })
		}()
		time.Sleep(time.Hour + history.Measured)
		got := h.Read(both, history.Last(time.Now().Add(-history.Measured), time.Hour))
		for i, v := range got["docs_written"] {
			if v != 10 {
				t.Fatalf("value %d is %v", i, v)
			}
		}
		if len(got["docs_written"]) != 720 {
			t.Errorf("%d samples of an hour", len(got["docs_written"]))
		}
		cancel()
		<-done
	})
}

// Nodes that were started at different times have values of the same steps, so that no sum lacks one of them.
func TestHistory_Run_together(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var nodes []*history.History
		for _, pause := range []string{"1.7s", "0.9s", "3.3s"} {
			wait, _ := time.ParseDuration(pause)
			time.Sleep(wait)
			h := history.New()
			nodes = append(nodes, h)
			go h.Run(ctx, func() history.Reading { return reading(0, 1) })
		}
		time.Sleep(time.Minute)
		for range 100 {
			time.Sleep(170 * time.Millisecond)
			last := history.Last(time.Now().Add(-history.Measured), 20*time.Second)
			for i, h := range nodes {
				if got := text(t, h.Read(both, last)); strings.Contains(got, "null") {
					t.Errorf("node %d at %v: %s", i, time.Now(), got)
				}
			}
		}
	})
}

// An hour of samples and a day of minutes take less than 2 MB, and no more after weeks.
func TestHistory_memory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h := history.New()
	for i := range 40_000 {
		r := history.NewReading()
		for k := range r {
			r[k] = float64(i)
		}
		h.Add(noon.Add(time.Duration(i)*history.Step), r)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	if t.Logf("%d series take %d bytes", len(history.All()), used); used > 2<<20 {
		t.Errorf("%d bytes", used)
	}
	runtime.KeepAlive(h)
}

func TestCombine(t *testing.T) {
	nan := float32(math.NaN())
	all := []state.Values{{1, nan, 3}, {2, nan, nan, 8}}
	for how, want := range map[state.How]string{
		state.Sum: "[3,null,3,8]", state.Max: "[2,null,3,8]", state.Min: "[1,null,3,8]", state.Mean: "[1.5,null,3,8]",
	} {
		if got := text(t, history.Combine(how, all)); got != want {
			t.Errorf("%s: %s, want %s", how, got, want)
		}
	}
}

func TestThin(t *testing.T) {
	nan := float32(math.NaN())
	values := state.Values{1, 3, nan, 5, nan, nan, 9}
	for how, want := range map[state.How]string{
		state.Sum: "[2,5,null,9]", state.Max: "[3,5,null,9]", state.Min: "[1,5,null,9]", state.Mean: "[2,5,null,9]",
	} {
		if got := text(t, history.Thin(how, values, 2)); got != want {
			t.Errorf("%s: %s, want %s", how, got, want)
		}
	}
	if got := text(t, history.Thin(state.Sum, values[:2], 1)); got != "[1,3]" {
		t.Error(got)
	}
}

func TestValues_JSON(t *testing.T) {
	v := state.Values{0, 1, 1234.5678, 1e9, 0.000123456, float32(math.NaN()), float32(math.Inf(1)), -3}
	got := text(t, v)
	if got != "[0,1,1235,1e+09,0.0001235,null,null,-3]" {
		t.Error(got)
	}
	var back state.Values
	if err := json.Unmarshal([]byte(got), &back); err != nil || text(t, back) != got {
		t.Errorf("%s, %v", text(t, back), err)
	}
	for _, odd := range []string{`{}`, `["a"]`, `7`} {
		if err := json.Unmarshal([]byte(odd), &back); err == nil {
			t.Errorf("%s is read", odd)
		}
	}
	if err := json.Unmarshal([]byte("null"), &back); err != nil || back != nil {
		t.Errorf("null: %v, %v", back, err)
	}
}
