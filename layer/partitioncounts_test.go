package layer_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// uncounted returns a partitioned database with documents of all kinds and without counters of partitions, and what
// their counters should be.
func uncounted(t *testing.T) (d *layer.Database, want map[string]layer.PartitionInfo) {
	t.Helper()
	d = mustPartitioned(t)
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 1000)))
	for p := range 8 {
		for i := range 6 {
			save(t, d, fmt.Sprintf(`{"_id":"p%d:%d","x":"%s","_attachments":{"f":{"data":"%s"}}}`, p, i,
				strings.Repeat("x", 100*p), data))
		}
		save(t, d, fmt.Sprintf(`{"_id":"p%d:1","_deleted":true}`, p))
		save(t, d, fmt.Sprintf(`{"_id":"p%d:2","y":1}`, p))
		save(t, d, fmt.Sprintf(`{"_id":"p%d:3","_attachments":{"f":{"stub":true}}}`, p))
		push(t, d, fmt.Sprintf(`{"_id":"p%d:4","_revisions":{"start":3,"ids":["c","b","a"]}}`, p))
	}
	save(t, d, `{"_id":"_design/first","views":{}}`)
	want = partitionInfos(t, d)
	if err := layer.ForgetPartitionCounts(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d, want
}

func partitionInfos(t *testing.T, d *layer.Database) map[string]layer.PartitionInfo {
	t.Helper()
	infos := map[string]layer.PartitionInfo{}
	for p := range 9 { // the last one is empty
		name := fmt.Sprintf("p%d", p)
		info, err := d.Partition(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		infos[name] = info
	}
	return infos
}

func samePartitions(t *testing.T, when string, got, want map[string]layer.PartitionInfo) {
	t.Helper()
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: partition %s is %+v, want %+v", when, name, got[name], w)
		}
	}
}

// Partitioned databases are older than the counters of partitions. An old database is counted in the background, and
// answers correctly before, during and after that. mustStore compares the counters with the documents in the end.
func TestPartition_OldDatabase(t *testing.T) {
	d, want := uncounted(t)
	samePartitions(t, "not counted", partitionInfos(t, d), want)

	// Writes that meet a partition without counters leave a difference in them, also a negative one.
	save(t, d, `{"_id":"p0:5","_deleted":true}`)
	save(t, d, `{"_id":"p1:new","z":1}`)
	if err := d.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	written := partitionInfos(t, d)
	if p0, p1 := written["p0"], written["p1"]; p0.DocCount != want["p0"].DocCount-1 || p0.DocDelCount != 2 ||
		p1.DocCount != want["p1"].DocCount+1 || p1.ActiveSize <= want["p1"].ActiveSize {
		t.Errorf("after writes: %+v, %+v", p0, p1)
	}
	if err := layer.RecountPartitions(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if counted, err := layer.PartitionsCounted(t.Context(), d); !counted || err != nil {
		t.Fatalf("counted: %v, %v", counted, err)
	}
	samePartitions(t, "counted", partitionInfos(t, d), written)
}

// Edits are not lost while partitions are counted, and several nodes may count at once.
func TestPartition_CountedBesideWriters(t *testing.T) {
	d, _ := uncounted(t)
	errs := make(chan error, 3)
	go func() {
		for i := range 60 {
			_, err := d.Bulk(t.Context(), []layer.Edit{edit(t, fmt.Sprintf(`{"_id":"p%d:n%d","n":1}`, i%8, i))},
				layer.WriteOptions{})
			if err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	for range 2 {
		go func() { errs <- layer.RecountPartitions(t.Context(), d) }()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	// An engine without snapshots leaves partitions that are written to for the next time.
	if err := layer.RecountPartitions(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if counted, err := layer.PartitionsCounted(t.Context(), d); !counted || err != nil {
		t.Fatalf("counted: %v, %v", counted, err)
	}
}
