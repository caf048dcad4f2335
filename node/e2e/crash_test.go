package e2e_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// ledgerDoc is a document whose body identifies it, so that partial or mixed-up writes are detected.
type ledgerDoc struct {
	ID    string `json:"_id"`
	Round int    `json:"round"`
	Text  string `json:"text"`
}

// After a kill -9 during a load, every acknowledged document exists at the next start, complete, once in the feed, and
// in the views.
func TestProgram_KillLosesNothing(t *testing.T) {
	rounds, perRound := 4, 40_000
	if testing.Short() {
		rounds = 2
	}
	dir := t.TempDir()
	acked := map[string]int{} // from id to the round in which it was acknowledged
	for round := range rounds {
		p := start(t, dir)
		c := p.client()
		if round == 0 {
			c.ok("PUT", "/ledger", "")
			c.ok("PUT", "/ledger/_design/d",
				`{"views":{"round":{"map":"function (doc) { if (doc.text) emit(doc.round, null) }"}}}`)
		}
		checkLedger(t, c, acked)
		docs := make([]ledgerDoc, perRound)
		for i := range docs {
			docs[i] = ledgerDoc{ID: fmt.Sprintf("r%d-%06d", round, i), Round: round,
				Text: fmt.Sprintf("document %d of round %d", i, round)}
		}
		var count atomic.Int64
		loaded := make(chan struct{})
		go func() { // kills the process
			for count.Load() < int64(5000*(round+1)) {
				select {
				case <-loaded:
					return
				case <-time.After(time.Millisecond):
				}
			}
			p.kill()
		}()
		err := load(t, c, "ledger", docs, func(row bulkRow) {
			if row.Error != "" {
				t.Errorf("%s: %s %s", row.ID, row.Error, row.Reason)
				return
			}
			acked[row.ID] = round
			count.Add(1)
		})
		close(loaded)
		if err == nil {
			t.Fatalf("all %d documents were loaded before the process was killed", perRound)
		}
		<-p.exited
		t.Logf("round %d: killed after %d documents", round, count.Load())
	}
	p := start(t, dir)
	checkLedger(t, p.client(), acked)
}

// checkLedger checks that every acknowledged document exists, and that nothing is damaged.
func checkLedger(t *testing.T, c *client, acked map[string]int) {
	t.Helper()
	var all struct {
		TotalRows int `json:"total_rows"`
		Rows      []struct {
			ID  string
			Doc struct {
				ID    string `json:"_id"`
				Round int
				Text  string
			}
		}
	}
	c.into("/ledger/_all_docs?include_docs=true", &all)
	there := map[string]bool{}
	for _, row := range all.Rows {
		if row.ID == "_design/d" {
			continue
		}
		there[row.ID] = true
		var round, i int
		if _, err := fmt.Sscanf(row.ID, "r%d-%d", &round, &i); err != nil {
			t.Fatalf("the id %q was never written", row.ID)
		}
		if row.Doc.ID != row.ID || row.Doc.Round != round ||
			row.Doc.Text != fmt.Sprintf("document %d of round %d", i, round) {
			t.Errorf("%s is %+v", row.ID, row.Doc)
		}
	}
	lost := 0
	for id := range acked {
		if !there[id] {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged documents are lost", lost, len(acked))
	}
	var info struct {
		DocCount int `json:"doc_count"`
	}
	c.into("/ledger", &info)
	if info.DocCount != len(all.Rows) {
		t.Errorf("doc_count is %d with %d documents", info.DocCount, len(all.Rows))
	}
	var feed changes
	c.into("/ledger/_changes", &feed)
	times := map[string]int{}
	for _, row := range feed.Results {
		times[row.ID]++
	}
	for id := range there {
		if times[id] != 1 {
			t.Fatalf("%s is %d times in the feed", id, times[id])
		}
	}
	if len(feed.Results) != len(all.Rows) {
		t.Errorf("the feed has %d entries for %d documents", len(feed.Results), len(all.Rows))
	}
	var view viewAnswer
	c.into("/ledger/_design/d/_view/round", &view)
	if len(view.Rows) != len(there) {
		t.Errorf("the view has %d rows for %d documents", len(view.Rows), len(there))
	}
}
