package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// transactionLog is an engine that records which methods of the layer begin transactions.
type transactionLog struct {
	kv.Engine
	mu    sync.Mutex
	on    bool
	begun map[string]int
}

func (l *transactionLog) Begin(ctx context.Context) kv.Transaction {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on {
		l.begun[beginner()]++
	}
	return l.Engine.Begin(ctx)
}

// OpenSnapshot implements kv.Snapshotter.
func (l *transactionLog) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, _, err := kv.OpenSnapshot(ctx, l.Engine)
	return s, err
}

// note starts or stops recording.
func (l *transactionLog) note(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on = on; on {
		l.begun = map[string]int{}
	}
}

// beginner returns the method that begins a transaction: the outermost one of the layer's packages on the stack.
func beginner() (name string) {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "/layer/internal/") && !strings.Contains(f.Function, ".func") {
			name = f.Function[strings.LastIndexByte(f.Function, '.')+1:]
		}
		if !more {
			return name
		}
	}
}

// From the query of a new index to the first document that is mapped, there are five consecutive transactions. In
// parallel, the request may read its job once more, which changes when it is claimed, and the node looks for another
// job. These numbers may only decrease.
func TestLayer_TransactionsOfABuild(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("retries after a fault are counted too")
	}
	log := &transactionLog{Engine: openEngine(t)}
	sandbox := script.New(script.Options{Log: func(string) { log.note(false) }}) // called by the map function
	defer sandbox.Close()
	store, err := layer.Open(t.Context(), log, layer.Options{Scripts: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := startOn(t, store, "n1")
	db := create(t, store, "cities", 2)
	putMany(t, db, 1000)
	for i := range 3 {
		put(t, db, fmt.Sprintf(
			`{"_id":"_design/d%d","views":{"n":{"map":"function (doc) { log('mapped'); emit(doc.n + %d) }"}}}`, i, i))
		design, err := db.Design(t.Context(), fmt.Sprint("d", i))
		if err != nil {
			t.Fatal(err)
		}
		log.note(true)
		if err := s.Ensure(t.Context(), actors.Of(db), design); err != nil {
			t.Fatal(err)
		}
		got := log.begun
		for _, once := range []string{"BriefState", "CatchUp", "RequestBuild", "StartBuild"} {
			if got[once] != 1 {
				t.Errorf("%d transactions of %s, want 1", got[once], once)
			}
		}
		// On a slow machine, the node looks for other jobs after the last one, or after its start, only now. A Claim
		// for each page of documents would be more.
		if n := got["Claim"]; n < 1 || n > 8 {
			t.Errorf("%d transactions of Claim, want 1 to 8", n)
		}
		// It reads a job again that was claimed or renewed.
		if n, most := got["FollowBuild"], 1+got["Renew"]; n > most {
			t.Errorf("%d transactions of FollowBuild, want at most %d", n, most)
		}
		// What is due after a while, if the machine is that slow: the lease, upkeep, and warm indexes. The job before
		// may end only now.
		for _, later := range []string{"FollowBuild", "Renew", "Keep", "Designs", "Finish"} {
			delete(got, later)
		}
		if len(got) != 5 {
			t.Errorf("transactions of %v", got)
		}
	}
}
