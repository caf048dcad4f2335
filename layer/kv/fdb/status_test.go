package fdb

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The status of a cluster of one process, of one that heals, and of one that cannot be reached.
func TestParseStatus(t *testing.T) {
	for name, want := range map[string]string{
		"single": "true healthy single ssd-2 1 process 1 machine 1/1 0 0 0 B 209723504 B free 19885830409 moves 0 " +
			"3.039 0.093 1.461 ms 4.2 0.2 0 The database is not being saturated by the workload. 0 s []",
		"healing": "true healing triple ssd-redwood-1 2 process 1 machine 2/3 1 0 5000000000 B 9000000000 B " +
			"free 1000000000 moves 3000000 1 2 3.5 ms 10 9 1 Storage server performance (storage queue). 7.5 s " +
			"[Cluster file contents do not match. storage_servers_error]",
		"unreachable": "false    0 process 0 machine 0/1 - - - B - B free - moves - - - - ms - - -  - s " +
			"[Unable to locate a quorum of coordination servers.]",
	} {
		text, err := os.ReadFile("testdata/status-" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseStatus(text, time.Now())
		got := fmt.Sprintf("%v %s %s %s %d process %d machine %d/%d %s %s %s B %s B free %s moves %s %s %s %s ms "+
			"%s %s %s %s %s s %v",
			s.Available, s.Health, s.Redundancy, s.Engine, s.Processes, s.Machines, s.Reachable, s.Coordinators,
			or(s.SpareData), or(s.SpareAccess), or(s.Data), or(s.Disk), or(s.Free), or(s.Moving), or(s.Start),
			or(s.Read), or(s.Commit), or(s.Started), or(s.Committed), or(s.Conflicted), s.Limit, or(s.Lag), s.Messages)
		if err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, want)
		}
	}
	if _, err := parseStatus([]byte("no"), time.Now()); err == nil || !strings.Contains(err.Error(), "status") {
		t.Errorf("not JSON: %v", err)
	}
}

// or returns what a pointer points to, or "-".
func or[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}
