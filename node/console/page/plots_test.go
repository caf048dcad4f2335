package page_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/scripts/browser"
)

// After the first answer a page with plots asks for the last values only, and shows what it would show if it had asked
// for all. It asks for all again when a node is back, whose values it lacks.
func TestPage_plotsGrow(t *testing.T) {
	var now atomic.Int64 // the number of the last value
	now.Store(1000)
	var nodes atomic.Value
	nodes.Store([]string{"n1", "n2"})
	var mu sync.Mutex
	var asked []int64 // how many values each request has asked for
	const step, count, start = 10, 360, 1_000_000
	mux, api := http.NewServeMux(), answers()
	stopped(mux)
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		form := r.URL.Query()
		switch name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"); {
		case form.Get("live") != "":
			http.Error(w, `{"reason":"no"}`, http.StatusServiceUnavailable)
			return
		case name != "plots":
			answer(w, api, name)
			return
		}
		last := now.Load()
		first := last - count + 1
		if from, err := strconv.ParseInt(form.Get("from"), 10, 64); err == nil {
			first = max(first, min(last, (from-start)/step))
		}
		values := make(state.Values, last-first+1)
		for i := range values {
			values[i] = float32((first+int64(i))*7%23 + 1)
			if i == len(values)-1 {
				values[i] /= 2 // so far
			}
		}
		p := state.Plots{Start: start + first*step, Step: step}
		for series := range strings.SplitSeq(form.Get("series"), ",") {
			one := state.Plot{Series: state.Series{Name: series, Title: series}, All: values}
			for _, n := range nodes.Load().([]string) {
				one.Nodes = append(one.Nodes, state.PlotLine{Node: n, Values: values})
			}
			p.Plots = append(p.Plots, one)
		}
		mu.Lock()
		asked = append(asked, int64(len(values)))
		mu.Unlock()
		_ = json.NewEncoder(w).Encode(p)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b := browser.Start(t)
	p := b.Open(server.URL+"/stopped#/plots?span=3600", browser.View{})
	defer p.Close()
	is := func(want ...int64) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(asked) != fmt.Sprint(want) {
			t.Errorf("the page has asked for %v values, want %v", asked, want)
		}
		asked = nil
	}
	const drawn = `[...document.querySelectorAll('.tile.plot')].map(e => e.outerHTML).join('\n')`
	p.WaitText("script_waiting")
	p.WaitText("last hour")
	is(360)
	for range 3 {
		now.Add(1)
		pass(p, 5*time.Second)
	}
	is(4, 4, 4)
	pass(p, 5*time.Second) // without a new value
	now.Add(17)            // after a pause
	pass(p, 5*time.Second)
	is(3, 20)
	fresh := b.Open(server.URL+"/stopped#/plots?span=3600", browser.View{})
	defer fresh.Close()
	fresh.WaitText("script_waiting")
	if got, want := value[string](p, drawn), value[string](fresh, drawn); got != want || len(got) < 100_000 {
		t.Errorf("after differences the page shows %.2000s, want %.2000s", got, want)
	}
	is(360)
	now.Add(400) // it lacks some between
	pass(p, 5*time.Second)
	nodes.Store([]string{"n1", "n2", "n3"})
	pass(p, 5*time.Second)
	pass(p, 5*time.Second)
	is(360, 3, 360, 3)
	if got := value[int](p, `document.querySelectorAll('.key').length`); got != 4*6 {
		t.Errorf("there are %d keys", got)
	}
	p.Eval(`(e => { e.value = '900'; e.dispatchEvent(new Event('change')) })(
		document.querySelector('#view select'))`, nil)
	pass(p, time.Second)
	is(360) // of another range it knows nothing
}

// A proxy that keeps the answers of a node to their ends never passes on a stream. The page asks instead, and for the
// stream from time to time.
func TestPage_keptStream(t *testing.T) {
	const path = "/_dashboard/api/databases"
	for _, headers := range []bool{false, true} {
		t.Run(fmt.Sprintf("with headers %v", headers), func(t *testing.T) {
			mux, api := http.NewServeMux(), answers()
			stopped(mux)
			mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("live") == "" {
					answer(w, api, strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"))
					return
				}
				if headers {
					w.Header().Set("Content-Type", "text/event-stream")
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			p := browser.Start(t).Open(server.URL+"/stopped#/settings", browser.View{})
			defer p.Close()
			p.WaitText("http.listen")
			p.Eval(`window.kept = true; location.hash = '#/databases'`, nil)
			pass(p, 4*time.Second)
			if text := p.Text(); strings.Contains(text, "customers") {
				t.Errorf("there is no stream, and the page shows %s", text)
			}
			pass(p, 2*time.Second)
			p.WaitText("customers")
			p.WaitText("live ●")
			p.Eval(`location.hash = '#/jobs'`, nil) // which has no stream either
			pass(p, 0)
			p.WaitText("old/4567")
			p.Eval(`mark(); location.hash = '#/databases'`, nil)
			pass(p, 50*time.Second)
			if polls, streams := asked(p, path), asked(p, path+"?live"); len(polls) < 24 || len(streams) > 0 {
				t.Errorf("the page has asked at %v, and for streams at %v", polls, streams)
			}
			pass(p, 60*time.Second)
			polls, streams := asked(p, path), asked(p, path+"?live")
			if len(streams) != 1 || streams[0] < 55 || len(polls) < 24 {
				t.Errorf("the page has asked at %v, and for streams at %v", polls, streams)
			}
			p.WaitText("live ●")
		})
	}
}

// The name of a node does not change the direction of the values beside it, and a plot says how high it is.
func TestPage_plotNames(t *testing.T) {
	mux, api := http.NewServeMux(), answers()
	stopped(mux)
	mux.HandleFunc("/_dashboard/api/", func(w http.ResponseWriter, r *http.Request) {
		if name := strings.TrimPrefix(r.URL.Path, "/_dashboard/api/"); name != "plots" {
			answer(w, api, name)
			return
		}
		line := func(name string, v ...float32) state.PlotLine { return state.PlotLine{Node: name, Values: v} }
		gap := float32(math.NaN())
		_ = json.NewEncoder(w).Encode(state.Plots{Start: 1_000_000, Step: 5, Plots: []state.Plot{{
			Series: state.Series{Name: "docs_written", Title: "documents written", Unit: "/s", How: "sum"},
			All:    state.Values{1, 2, 3, 4, 1500, 6, 7, 8},
			Nodes: []state.PlotLine{line("a", 1, 2, 3, 4, 1500, 3, 3, 4),
				line("b\u202e", gap, gap, gap, gap, 0, 3, 4, 4)},
		}}})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	p := browser.Start(t).Open(server.URL+"/stopped#/plots", browser.View{})
	defer p.Close()
	p.WaitText("at most 1,500/s")
	text := value[string](p, `document.querySelector('.plot').textContent`)
	p.Eval(`document.querySelector('.plot svg').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))`, nil)
	text += value[string](p, `document.querySelector('.plot').textContent`)
	if strings.Contains(text, "\u202e") || strings.Count(text, `b\u202e `) != 2 {
		t.Errorf("the plot says %q", text)
	}
}
