package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// silentListener takes connections and never answers. It returns its URL.
func silentListener(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		var all []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			all = append(all, conn)
		}
		for _, conn := range all {
			conn.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return "http://" + l.Addr().String()
}

// A node that leaves gives its replications back, whatever they wait for, and others take them at once. Those of a node
// that is killed are taken as fast as other jobs.
func TestReplicate_HandedOver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	c := newCluster(t, 3)
	for i := range 3 {
		c.start(i)
	}
	c.allAlive()
	one := c.nodes[0].client()
	one.ok("PUT", "/_replicator", "")
	one.ok("PUT", "/db", "")
	one.fill("db", 0, 100)
	sources := map[string]string{"silent": silentListener(t), "refusing": "http://127.0.0.1:1", "sound": c.nodes[0].http()}
	for i := range 6 {
		for kind, source := range sources {
			one.ok("PUT", fmt.Sprint("/_replicator/", kind, i), fmt.Sprintf(
				`{"source":%q,"target":"%s%d","create_target":true,"continuous":true}`, source+"/db", kind, i))
		}
	}
	conn := connect(t, c.nodes[0], "db", "me")
	held := func() (all, silent int) {
		err := conn.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE id LIKE '%/silent%') FROM divan.jobs
			WHERE type = 'replication' AND state = 'running' AND worker = 'node1'`).Scan(&all, &silent)
		if err != nil {
			t.Fatal(err)
		}
		return all, silent
	}
	var token struct{ Token string }
	one.into("/_dashboard/api/token", &token)
	for _, how := range []string{"drained", "stopped", "killed"} {
		eventually(t, "node1 replicates from a silent source before it is "+how, 2*time.Minute, func() bool {
			all, silent := held()
			return silent > 0 && all > silent
		})
		time.Sleep(7 * time.Second) // until figures are asked for
		began := time.Now()
		within := 3 * time.Second
		switch how {
		case "drained":
			r := one.do("POST", "/_dashboard/api/act", `{"do":"drain","node":"node1"}`, "X-Divan-Token", token.Token)
			if r.status != 200 {
				t.Fatalf("drain: %d %s", r.status, r.body)
			}
		case "stopped":
			c.nodes[1].stop(syscall.SIGTERM)
			within = 0
		case "killed":
			c.nodes[1].kill()
			within = 6 * time.Second // its lease with the intervals of checks is a third of that
		}
		for all, _ := held(); all > 0; all, _ = held() {
			if time.Since(began) > within {
				t.Errorf("a node that was %s has %d replications after %v", how, all, time.Since(began))
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("%s: %v", how, time.Since(began))
		if how == "drained" {
			c.nodes[1].stop(syscall.SIGTERM)
		}
		if how != "killed" {
			c.start(1)
			c.allAlive()
			// New jobs, some of which are its own, since the others only come back from time to time.
			for kind, source := range sources {
				for i := range 6 {
					one.ok("PUT", fmt.Sprint("/_replicator/", kind, how, i), fmt.Sprintf(
						`{"source":%q,"target":"%s%s%d","create_target":true,"continuous":true}`, source+"/db", kind, how, i))
				}
			}
		}
	}
}

// The job of a replication document cannot be dropped, since the next start of a node would bring it back. The answer
// says what to delete. That a job has ended is told from that there is none.
func TestReplicate_Dropped(t *testing.T) {
	n := start(t, t.TempDir(), "-admin", "anna:s3cret")
	anna := n.as("anna:s3cret")
	anna.ok("PUT", "/_replicator", "")
	anna.ok("PUT", "/db", "")
	anna.ok("PUT", "/_replicator/good", `{"source":"db","target":"copy","create_target":true,"continuous":true}`)
	anna.ok("PUT", "/_replicator/once", `{"source":"db","target":"copied","create_target":true}`)
	anna.ok("POST", "/_replicate", `{"source":"db","target":"transient","create_target":true,"continuous":true}`)
	eventually(t, "one replication is complete", 30*time.Second, func() bool {
		d := anna.scheduled()
		return d["once"].State == "completed" && d["good"].State == "running" && anna.jobs() == 2
	})
	var token struct{ Token string }
	anna.into("/_dashboard/api/token", &token)
	drop := func(id string) (int, string) {
		r := anna.do("POST", "/_dashboard/api/act", fmt.Sprintf(`{"do":"drop_job","type":"replication","id":%q}`, id),
			"X-Divan-Token", token.Token)
		return r.status, string(r.body)
	}
	for id, want := range map[string]string{
		"_replicator/good": "the document good in _replicator asks for this replication; delete it",
		"_replicator/once": "the job is finished",
		"_replicator/goo":  "there is no such job any more",
	} {
		if status, text := drop(id); status != http.StatusConflict || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %q", id, status, text, want)
		}
	}
	if got := anna.scheduled()["good"].State; got != "running" {
		t.Errorf("the replication of a document is %s", got)
	}
	var list struct {
		Jobs []struct{ ID, Database string }
	}
	anna.into("/_scheduler/jobs", &list)
	for _, j := range list.Jobs {
		if status, text := drop("/" + j.ID); j.Database == "" && status != http.StatusOK {
			t.Errorf("a replication without a document: %d %s", status, text)
		}
	}
	if got := anna.jobs(); got != 1 {
		t.Errorf("%d replications are left", got)
	}
}
