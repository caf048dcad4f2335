package events_test

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

func recorder(t *testing.T) (*events.Recorder, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	return events.New("n1", slog.New(slog.NewTextHandler(&log, nil))), &log
}

func list(r *events.Recorder) []state.Event { return r.List(time.Time{}, 1<<20) }

func TestRecorder(t *testing.T) {
	r, log := recorder(t)
	silent := time.Now().Add(-2400 * time.Millisecond)
	before, changed := r.Changes()
	r.Record(state.Event{Kind: state.MemberJoined, Member: "n2", Object: "1.2", At: silent})
	r.Record(state.Event{Kind: state.MemberDead, Member: "n2", Since: &silent, At: silent.Add(2400 * time.Millisecond)})
	r.Keep(state.Event{Kind: state.ActorFailed, Actor: "shard:a", Detail: "boom\nstack"})
	select {
	case <-changed:
	default:
		t.Error("no one is woken")
	}
	if after, _ := r.Changes(); after != before+3 {
		t.Errorf("%d changes after %d", after, before)
	}
	var got []string
	for _, e := range list(r) {
		if e.ID == "" || e.Node != "n1" || e.At.IsZero() {
			t.Errorf("incomplete: %+v", e)
		}
		got = append(got, fmt.Sprintf("%s: %s", e.Severity, e.Text))
	}
	want := "error: shard:a failed and is restarted: boom; error: n2 has not answered for 2.4 s and was given up; " +
		"info: n2 joined, version 1.2"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("events %q\nwant   %q", text, want)
	}
	for _, want := range []string{`level=INFO msg="a member joined" event=joined member=n2 version=1.2`,
		`level=ERROR msg="a member was given up" event=dead member=n2 seconds=2.4`} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log is without %q:\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), "boom") {
		t.Error("what is in the log already is logged again")
	}
	if got := r.List(time.Now().Add(time.Hour), 10); len(got) != 0 {
		t.Errorf("from the future: %+v", got)
	}
}

var update = flag.Bool("update", false, "write docs/events.md")

// docs/events.md is made from the table of kinds.
func TestPage(t *testing.T) {
	const file = "../../../docs/events.md"
	want := events.Markdown()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("docs/events.md is not what the table says (%v): go test ./node/console/events -run TestPage -update", err)
	}
	if strings.Contains(want, "| |") || strings.Contains(want, "|  |") {
		t.Errorf("a kind lacks what it is about:\n%s", want)
	}
}

// Each kind has a message for the log, a text and a severity.
func TestRecorder_kinds(t *testing.T) {
	r, log := recorder(t)
	all := []state.EventKind{state.NodeStarted, state.MemberJoined, state.MemberSilent, state.MemberAnswers,
		state.MemberDead, state.MemberLeft, state.MemberReturned, state.MemberRestart, state.WrongSecret,
		state.NameClash, state.ShardsMoved, state.ActorFailed, state.JobTaken, state.Resharded, state.StoreLost,
		state.StoreBack, state.SlowStatement, state.IndexErrors, state.DiskLow, state.Degraded, state.Recovered,
		state.SettingChanged, state.LoginRefused, state.ActionDone, state.ActionRefused, state.Draining}
	for _, kind := range all {
		log.Reset()
		r.Record(state.Event{Kind: kind, Member: "m", Database: "db", Object: "object", Actor: "actor", Detail: "detail",
			User: "ann", From: "a", To: "b", Count: 2, Token: 7})
		e := list(r)[0]
		if e.Kind != kind || e.Severity == "" || e.Text == string(kind) || strings.Contains(e.Text, "%!") {
			t.Errorf("%s: %+v", kind, e)
		}
		if strings.Contains(log.String(), `msg=""`) || log.Len() == 0 {
			t.Errorf("%s is logged as %s", kind, log)
		}
		if kind == state.SlowStatement && strings.Contains(log.String(), "detail") {
			t.Error("a statement is in the log")
		}
	}
}

func TestRecorder_storeLost(t *testing.T) {
	r, _ := recorder(t)
	for reason, want := range map[string]string{
		"The store does not answer":                    "the store does not answer",
		"The store cannot be read: a block is damaged": "the store cannot be read: a block is damaged",
		"a disk failed":                                "the store does not answer: a disk failed",
	} {
		r.Record(state.Event{Kind: state.StoreLost, Detail: reason})
		if got := list(r)[0].Text; got != want {
			t.Errorf("%q is told as %q, want %q", reason, got, want)
		}
	}
}

// A stranger who tries many passwords fills neither the log nor the list.
func TestRecorder_limited(t *testing.T) {
	r, log := recorder(t)
	r.Record(state.Event{Kind: state.Resharded, Database: "orders", Count: 4})
	at := time.Now()
	for i := range 10_000 {
		r.Record(state.Event{Kind: state.LoginRefused, Address: "10.0.0.1", At: at.Add(time.Duration(i) * time.Millisecond)})
	}
	got := list(r)
	if n := strings.Count(log.String(), "authentication failed"); n != 10 || len(got) != 11 {
		t.Errorf("%d lines in the log, %d events", n, len(got))
	}
	repeated := 0
	for _, e := range got {
		repeated += e.Repeated
	}
	if last := got[0]; repeated != 10_000-10 || last.Until == nil || !last.Until.Equal(at.Add(9999*time.Millisecond)) {
		t.Errorf("%d repetitions, the last event is %+v", repeated, last)
	}
	if got[len(got)-1].Kind != state.Resharded {
		t.Error("the flood has displaced another event")
	}
	for i := range 50 {
		r.Record(state.Event{Kind: state.LoginRefused, At: at.Add(time.Minute + time.Duration(i)*time.Second)})
	}
	if n := len(list(r)) - len(got); n != 10 {
		t.Errorf("%d events in the next minute", n)
	}
}

// What is only counted is a repetition of the event of the same user and address. Without one it is an event.
func TestRecorder_Count(t *testing.T) {
	r, log := recorder(t)
	at := time.Now()
	of := func(user string, after time.Duration) state.Event {
		return state.Event{Kind: state.LoginRefused, User: user, Address: "10.0.0.1", At: at.Add(after)}
	}
	r.Record(of("ann", 0))
	r.Record(of("bob", time.Second))
	for i := range 1500 {
		r.Count(of("ann", time.Minute+time.Duration(i)*time.Millisecond))
	}
	r.Count(of("carl", 2*time.Minute))
	r.Count(of("carl", 3*time.Minute))
	r.Count(of("ann", time.Hour))
	var got []string
	for _, e := range list(r) {
		got = append(got, fmt.Sprint(e.User, e.Repeated))
		if e.Repeated == 1500 && !e.Until.Equal(at.Add(time.Minute+1499*time.Millisecond)) {
			t.Errorf("repeated until %v", e.Until)
		}
	}
	if want := []string{"ann0", "carl1", "bob0", "ann1500"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if n := strings.Count(log.String(), "authentication failed"); n != 4 {
		t.Errorf("%d lines in the log", n)
	}
}

func TestRecorder_bounded(t *testing.T) {
	r, _ := recorder(t)
	long := strings.Repeat("é", 5000)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 4000 {
		r.Keep(state.Event{Kind: state.ActorFailed, Actor: long + fmt.Sprint(i), Detail: long[i%2*2:] + fmt.Sprint(i),
			Database: long, Member: long})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("%d bytes for the events", grown)
	}
	got := list(r)
	if len(got) < 50 || !strings.HasSuffix(got[0].ID, "/4000") {
		t.Errorf("%d events, the last one is %s", len(got), got[0].ID)
	}
	for _, s := range []string{got[0].Actor, got[0].Detail, got[0].Text, got[0].Database} {
		if len(s) > 4096 || !utf8.ValidString(s) {
			t.Errorf("a text of %d bytes, valid %v", len(s), utf8.ValidString(s))
		}
	}
}

// What a node learns from others takes little memory, and is neither its own nor twice there.
func TestRecorder_Learn(t *testing.T) {
	r := events.New("n1", slog.New(slog.DiscardHandler))
	r.Record(state.Event{Kind: state.MemberDead, Member: "n2"})
	own := r.List(time.Time{}, 10)
	r.Learn(own)
	r.Learn([]state.Event{{ID: "n3/a/1", Node: "n3", Kind: state.LoginRefused}})
	if got := r.Learned(time.Time{}); len(got) != 0 {
		t.Errorf("learned %+v", got)
	}
	const most = 5000
	for i := range most {
		e := state.Event{ID: fmt.Sprint("n3/a/", i), Node: "n3", Kind: state.MemberDead, Member: "n2",
			At: at(float64(i)), Detail: strings.Repeat("x", 4000)}
		r.Learn([]state.Event{e, e})
		r.Learn([]state.Event{e})
	}
	got := r.Learned(time.Time{})
	if n := len(got); n < 100 || n > 1000 || got[n-1].ID != fmt.Sprint("n3/a/", most-1) || got[n-1].Detail != "" {
		t.Errorf("%d are kept, the last %+v", n, got[n-1])
	}
	if got := r.Learned(at(most - 10)); len(got) != 10 {
		t.Errorf("of the last ten there are %d", len(got))
	}
	var jobs []state.Event
	for i := range most {
		jobs = append(jobs, state.Event{ID: fmt.Sprint("n3/b/", i), Node: "n3", Kind: state.JobTaken, Job: "j",
			At: at(float64(most + i))})
	}
	r.Learn(jobs)
	deaths := slices.DeleteFunc(r.Learned(time.Time{}), func(e state.Event) bool { return e.Kind == state.JobTaken })
	if len(deaths) != len(got) {
		t.Errorf("jobs have displaced deaths: %d are left of %d", len(deaths), len(got))
	}
	if list := r.List(time.Time{}, 10); len(list) != 1 {
		t.Errorf("its own are %+v", list)
	}
}

// Hundreds of jobs that are taken over displace no other event, and take a bounded amount of memory.
func TestRecorder_jobsTaken(t *testing.T) {
	r, _ := recorder(t)
	r.Record(state.Event{Kind: state.MemberDead, Member: "n2"})
	for i := range 10_000 {
		r.Keep(state.Event{Kind: state.JobTaken, Job: fmt.Sprint("replication r/", i), From: "n2", To: "n1"})
	}
	got := list(r)
	if len(got) != 501 || got[len(got)-1].Kind != state.MemberDead || !strings.HasSuffix(got[0].Job, "/9999") {
		t.Errorf("%d events, from %+v to %+v", len(got), got[0], got[len(got)-1])
	}
}
