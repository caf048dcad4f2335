package script_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/divandb/divan/layer/script"
)

// A function that loops on many documents is stopped sooner each time, every other document is mapped, and the other
// function keeps its time limit.
func TestMaps_manyLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("measures times, which the race detector distorts")
	}
	const limit, docs = time.Second, 12
	s := open(t, script.Limits{Time: limit})
	m, err := s.Maps(t.Context(), nil, []script.Function{
		{Name: "loops", Source: `function(doc){ if (doc.n % 2) for(;;); emit(doc.n, 1) }`},
		{Name: "beside", Source: `function(doc){ emit(doc.n, 2) }`},
	})
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	for n := range docs {
		texts = append(texts, fmt.Appendf(nil, `{"n":%d}`, n))
	}
	began, last := cpu(), cpu()
	var took []time.Duration
	err = m.Map(t.Context(), texts, func(n int, r *script.Mapped) error {
		var stopped *script.LimitError
		if loops := n%2 == 1; loops != errors.As(r.Errs[0], &stopped) || loops == (len(r.Rows[0]) > 0) ||
			len(r.Rows[1]) != 1 {
			t.Errorf("document %d: %v, %v", n, r.Rows, r.Errs)
		}
		if n%2 == 1 {
			took = append(took, cpu()-last)
		}
		last = cpu()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if total := cpu() - began; took[0] < limit || total > docs/2*limit*2/3 {
		t.Errorf("the first took %v of %v, all of them %v", took[0], limit, total)
	}
	began = cpu()
	if err := m.Within(30*time.Millisecond).Map(t.Context(), texts[1:2], func(int, *script.Mapped) error {
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v, then within 30ms %v", took, cpu()-began)
}

// A slow function that loops on some documents has its time for the others, however often it was stopped.
func TestMaps_slowAndLoops(t *testing.T) {
	if testing.Short() {
		t.Skip("measures times, which the race detector distorts")
	}
	s := open(t, script.Limits{Time: time.Second})
	m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "slow", Source: `function(doc){
		if (doc.n % 2) for(;;); for (var i = 0, s = 0; i < doc.loops; i++) s += i; emit(doc.n, s) }`}})
	if err != nil {
		t.Fatal(err)
	}
	// Some 150 ms, where the limit would be 100 ms after the first few documents at which the function is stopped.
	loops := 100_000
	for took := time.Duration(0); took < 150*time.Millisecond; loops *= 2 {
		began := cpu()
		if err := m.Map(t.Context(), [][]byte{fmt.Appendf(nil, `{"n":0,"loops":%d}`, loops)},
			func(int, *script.Mapped) error { return nil }); err != nil {
			t.Fatal(err)
		}
		took = cpu() - began
	}
	loops /= 2
	var texts [][]byte
	for n := range 8 {
		texts = append(texts, fmt.Appendf(nil, `{"n":%d,"loops":%d}`, n, loops))
	}
	if err = m.Map(t.Context(), texts, func(n int, r *script.Mapped) error {
		if loops := n%2 == 1; loops != (r.Errs[0] != nil) {
			t.Errorf("document %d: %v", n, r.Errs[0])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
