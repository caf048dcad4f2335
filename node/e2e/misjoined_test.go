package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// yamlNode launches a node with settings given as YAML.
func yamlNode(t *testing.T, text string) *process {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"),
		[]byte(text+"\nhttp: {listen: '127.0.0.1:0'}\nsql: {listen: '127.0.0.1:0'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch(t, dir)
}

func readyNode(t *testing.T, text string) *process {
	t.Helper()
	p := yamlNode(t, text)
	p.waitReady()
	return p
}

// degradedBy waits until a node reports a reason in /_up, on the dashboard, in the metrics and in the log.
func degradedBy(t *testing.T, p *process, reason string) {
	t.Helper()
	name, _, _ := strings.Cut(reason, ":")
	eventually(t, "the node is degraded by "+reason, 20*time.Second, func() bool {
		r := p.client().do("GET", "/_up", "")
		return r.status == 200 && strings.Contains(string(r.body), `"status":"degraded"`) &&
			strings.Contains(string(r.body), reason)
	})
	for path, want := range map[string]string{"/_dashboard/api/overview": reason,
		"/metrics": `divan_degraded{reason="` + name + `"}`} {
		if r := p.client().do("GET", path, ""); !strings.Contains(string(r.body), want) {
			t.Errorf("%s does not say %s", path, want)
		}
	}
	eventually(t, "the log says "+reason, 20*time.Second, func() bool {
		return strings.Contains(p.stderr.whole(), name+": ")
	})
}

// refuses waits until a process has ended with status 1 and one line about its name.
func refuses(t *testing.T, p *process) {
	t.Helper()
	if code := p.wait(startTimeout); code != 1 {
		t.Errorf("exit status %d", code)
	}
	text := strings.TrimSpace(p.stderr.whole())
	last := text[strings.LastIndex(text, "\n")+1:]
	if !regexp.MustCompile(`^divan: .*another node is called twin and answers at 127\.0\.0\.1:\d+: ` +
		`give this one a unique name$`).MatchString(last) {
		t.Errorf("it says %q", text)
	}
}

// A node that does not see the others reports why.
func TestMisjoined(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	store := freeAddr(t)
	first := readyNode(t, fmt.Sprintf("name: first\nstorage: {listen: '%s', secret: s}\ncluster: {gossip: "+
		"'127.0.0.1:0', secret: one}", store))
	join := first.ready["gossip"]
	remote := fmt.Sprintf("storage: {engine: remote, address: '%s', secret: s}\n", store)
	for name, tc := range map[string]struct{ text, reason string }{
		"wrong secret": {remote + fmt.Sprintf("cluster: {gossip: '127.0.0.1:0', secret: two, join: ['%s']}", join),
			"gossip_secret: the member at " + join + " has a different cluster.secret"},
		"no secret": {remote + fmt.Sprintf("cluster: {gossip: '127.0.0.1:0', join: ['%s']}", join),
			"gossip_secret: the member at " + join + " encrypts its messages"},
		"wrong address": {remote + "cluster: {gossip: '127.0.0.1:0', secret: one, join: ['127.0.0.1:1']}",
			"join_failed: no member answers at 127.0.0.1:1"},
		"another store": {fmt.Sprintf("name: stranger\ncluster: {gossip: '127.0.0.1:0', secret: one, join: ['%s']}",
			join), "other_store: first is in this cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			p := readyNode(t, tc.text)
			degradedBy(t, p, tc.reason)
			p.stop(syscall.SIGTERM)
		})
	}
	eventually(t, "the first node is well", 60*time.Second, func() bool {
		return strings.Contains(string(first.client().do("GET", "/_up", "").body), `"ok"`)
	})
	// The log of the node that was called says so too, in its words and not in those of a library.
	eventually(t, "the log of the first node says so too", 60*time.Second, func() bool {
		return strings.Contains(first.stderr.whole(), `"msg":"a node has another secret","event":"wrong_secret"`)
	})
	if log := first.stderr.whole(); strings.Contains(log, "decrypt") || strings.Contains(log, "not encrypted") {
		t.Errorf("its log has a library's words for it:\n%s", log)
	}
}

// Of several nodes with one name exactly one starts, even if they start at the same instant. A killed node starts again
// under its name, at the same or another address.
func TestMisjoined_Name(t *testing.T) {
	needEmbedded(t)
	store := freeAddr(t)
	first := readyNode(t,
		fmt.Sprintf("name: first\nstorage: {listen: '%s', secret: s}\ncluster: {gossip: '127.0.0.1:0'}", store))
	twin := fmt.Sprintf("name: twin\nstorage: {engine: remote, address: '%s', secret: s}\ncluster: {gossip: "+
		"'127.0.0.1:0', join: ['%s']}", store, first.ready["gossip"])
	one := readyNode(t, twin)
	refuses(t, yamlNode(t, twin))
	eventually(t, "another node tells that it was refused", 20*time.Second, func() bool {
		return strings.Contains(fmt.Sprint(first.client().events("")), "is called twin too, and it has not started")
	})
	if r := one.client().do("GET", "/_up", ""); !strings.Contains(string(r.body), `"ok"`) {
		t.Errorf("the node with the name is not well: %s", r.body)
	}
	// It cannot reach the cluster, but the store knows that the name is taken.
	refuses(t, yamlNode(t, strings.Replace(twin, first.ready["gossip"], "127.0.0.1:1", 1)))
	for range 3 {
		one.kill()
		one = readyNode(t, twin) // at another address, before the others notice
	}
	one.kill()
	all := []*process{yamlNode(t, twin), yamlNode(t, twin), yamlNode(t, twin)}
	running := 0
	for _, p := range all {
		if line, err := p.stdout.next(startTimeout); err == nil && strings.HasPrefix(line, "divan ready ") {
			running++
		} else {
			refuses(t, p)
		}
	}
	if running != 1 {
		t.Errorf("%d of three nodes with one name run", running)
	}
	if !first.running() {
		t.Error("the first node has ended")
	}
}

// A node that gossip does not reach is asked through the store whether it is alive. A node that is paused for long
// loses its name, reports that when it continues, and gets the name back when the other node is gone.
func TestMisjoined_Name_silent(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	store := freeAddr(t)
	first := readyNode(t,
		fmt.Sprintf("name: first\nstorage: {listen: '%s', secret: s}\ncluster: {gossip: '127.0.0.1:0'}", store))
	twin := func(secret string) string {
		return fmt.Sprintf("name: twin\nstorage: {engine: remote, address: '%s', secret: s}\n"+
			"cluster: {gossip: '127.0.0.1:0', join: ['%s'], secret: '%s'}", store, first.ready["gossip"], secret)
	}
	one := readyNode(t, twin(""))
	refuses(t, yamlNode(t, twin("another")))
	suspend(t, one.cmd.Process)
	two := readyNode(t, twin(""))
	resume(t, one.cmd.Process)
	degradedBy(t, one, "name_clash: another node is called twin too, and answers at "+two.ready["gossip"]+
		", so that this one is not a member")
	type overview struct {
		Text      string
		Nodes     []struct{ Name string }
		Attention []struct{ Text string }
	}
	var o overview
	one.client().into("/_dashboard/api/overview", &o)
	if o.Text != "this node is not a member, because another one is called twin too" || len(o.Nodes) != 1 {
		t.Errorf("it says %+v", o)
	}
	eventually(t, "the others say so once", 20*time.Second, func() bool {
		for _, p := range []*process{first, two} {
			var o overview
			p.client().into("/_dashboard/api/overview", &o)
			const clash = "two nodes are called twin, one of which answers at "
			switch said := strings.Count(fmt.Sprint(o.Attention), clash); {
			case said > 1:
				t.Fatalf("they say it %d times: %+v", said, o.Attention)
			case said == 0:
				return false
			}
		}
		return true
	})
	eventually(t, "its log says so once", 60*time.Second, func() bool {
		return strings.Count(one.stderr.whole(), `"msg":"two nodes have the same name","event":"name_clash"`) == 1
	})
	refuses(t, yamlNode(t, twin("")))
	two.kill()
	eventually(t, "the first one has its name back", 60*time.Second, func() bool {
		return strings.Contains(string(one.client().do("GET", "/_up", "").body), `"ok"`)
	})
	refuses(t, yamlNode(t, twin("")))
}

// A node with an empty join list does not say that all is well with one node before the others have found it again.
func TestMisjoined_awaits(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	dir, store, gossip := t.TempDir(), freeAddr(t), freeAddr(t)
	text := fmt.Sprintf("name: first\ndata: %q\nstorage: {listen: '%s', secret: s}\ncluster: {gossip: '%s'}",
		dir, store, gossip)
	first := readyNode(t, text)
	readyNode(t, fmt.Sprintf("name: second\nstorage: {engine: remote, address: '%s', secret: s}\n"+
		"cluster: {gossip: '127.0.0.1:0', join: ['%s']}", store, gossip))
	says := func() string {
		var overview struct{ Text string }
		first.client().into("/_dashboard/api/overview", &overview)
		return overview.Text
	}
	const both = "all is well: 2 nodes"
	eventually(t, "both are well", 20*time.Second, func() bool { return says() == both })
	first.kill()
	first = readyNode(t, text)
	eventually(t, "both are well again", 20*time.Second, func() bool {
		text := says()
		if text == "all is well: 1 node" {
			t.Fatalf("it says %q", text)
		}
		return strings.HasPrefix(text, "all is well: 2 nodes")
	})
}

// The store is used over TLS, with and without certificates of the nodes. Beyond loopback it is never used without TLS.
func TestStorageTLS(t *testing.T) {
	needEmbedded(t)
	mostlyWaits(t)
	cert, key, _ := certificate(t)
	otherCert, otherKey, _ := certificate(t)
	for name, mutual := range map[string]bool{"the store has a certificate": false, "the nodes have one too": true} {
		t.Run(name, func(t *testing.T) {
			store := freeAddr(t)
			server, client := fmt.Sprintf("cert: %q, key: %q", cert, key), fmt.Sprintf("ca: %q", cert)
			if mutual {
				server += fmt.Sprintf(", ca: %q", otherCert)
				client += fmt.Sprintf(", cert: %q, key: %q", otherCert, otherKey)
			}
			first := readyNode(t, fmt.Sprintf("name: first\nstorage: {listen: '%s', secret: s, tls: {%s}}\ncluster: "+
				"{gossip: '127.0.0.1:0'}", store, server))
			node := func(tls string) string {
				return fmt.Sprintf("storage: {engine: remote, address: '%s', secret: s, timeout: 1s, tls: "+
					"{%s}}\ncluster: {gossip: '127.0.0.1:0', join: ['%s']}", store, tls, first.ready["gossip"])
			}
			second := readyNode(t, node(client))
			second.client().ok("PUT", "/db", "")
			second.client().ok("PUT", "/db/doc", `{}`)
			if got := first.client().object("GET", "/db/doc", "")["_id"]; got != "doc" {
				t.Errorf("the first node has %v", got)
			}
			for what, tls := range map[string]string{"no TLS": "",
				"another certificate":       fmt.Sprintf("ca: %q", otherCert),
				"no certificate of its own": map[bool]string{true: fmt.Sprintf("ca: %q", cert)}[mutual]} {
				if p := yamlNode(t, node(tls)); p.wait(startTimeout) != 1 {
					t.Errorf("the node starts with %s", what)
				}
			}
		})
	}
	for text, want := range map[string]string{
		"storage: {listen: '0.0.0.0:0', secret: s}": "storage.listen: 0.0.0.0:0 can be " +
			"reached from other machines",
		"storage: {engine: remote, address: 'store.example:7000', secret: s}": "storage.address: store.example:7000 " +
			"is on another machine",
	} {
		p := yamlNode(t, text+"\nadmins: {a: '"+hashOfSecret+"'}")
		if code := p.wait(startTimeout); code != 2 || !strings.Contains(p.stderr.whole(), want) {
			t.Errorf("%s: status %d, %s", text, code, p.stderr)
		}
	}
}

// hashOfSecret is the hash of a password.
const hashOfSecret = "-pbkdf2-" + "0000000000000000000000000000000000000000,00000000000000000000000000000000,10"

// Both secrets are changed on three nodes, one after the other, during writes and reads of feeds: all nodes keep seeing
// each other, and no feed misses a change.
func TestSecrets_Rotated(t *testing.T) {
	needEmbedded(t)
	if testing.Short() {
		t.Skip("takes a minute")
	}
	mostlyWaits(t)
	c := newCluster(t, 3)
	secrets := func(i int, own string, accepted ...string) {
		list, storageList := "", ""
		for _, s := range accepted {
			list, storageList = list+"'"+s+"', ", storageList+"'storage "+s+"', "
		}
		storage := "engine: remote, address: '" + c.store + "'"
		if i == 0 {
			storage = "listen: '" + c.store + "'"
		}
		c.storage[i] = fmt.Sprintf("{%s, secret: 'storage %s', accept_secrets: [%s]}", storage, own, storageList)
		c.gossipSecret[i] = fmt.Sprintf(", secret: '%s', accept_secrets: [%s]", own, list)
	}
	c.storage, c.gossipSecret = map[int]string{}, map[int]string{}
	for i := range 3 {
		secrets(i, "old")
		c.start(i)
	}
	c.allAlive()
	c.nodes[0].client().ok("PUT", "/db", "")
	written, since := 0, []string{"0", "0", "0"}
	heard := map[int]map[string]bool{0: {}, 1: {}, 2: {}}
	// hear writes through every node, and reads every feed from its position to its end.
	hear := func(what string) {
		t.Helper()
		for i := range 3 {
			for range 5 {
				written++
				id := fmt.Sprintf("doc%d", written)
				eventually(t, what+": a write goes through", 20*time.Second, func() bool {
					s := c.nodes[i].client().status("PUT", "/db/"+id, "{}")
					return s == 201 || s == 409
				})
			}
		}
		for i := range 3 {
			eventually(t, fmt.Sprintf("%s: the feed on node%d has all", what, i), 20*time.Second, func() bool {
				var answer struct {
					LastSeq string `json:"last_seq"`
					Results []struct{ ID string }
				}
				c.nodes[i].client().into("/db/_changes?feed=longpoll&timeout=500&since="+since[i], &answer)
				since[i] = answer.LastSeq
				for _, r := range answer.Results {
					heard[i][r.ID] = true
				}
				return len(heard[i]) == written
			})
		}
	}
	hear("before")
	for _, step := range []struct {
		own      string
		accepted []string
	}{{"old", []string{"new"}}, {"new", []string{"old"}}, {"new", nil}} {
		for i := range 3 {
			what := fmt.Sprintf("node%d with %s, accepting %v", i, step.own, step.accepted)
			secrets(i, step.own, step.accepted...)
			c.nodes[i].stop(syscall.SIGTERM)
			c.start(i)
			c.allAlive()
			for j := range 3 {
				eventually(t, what+": every node is well", 20*time.Second, func() bool {
					return strings.Contains(string(c.nodes[j].client().do("GET", "/_up", "").body), `"ok"`)
				})
			}
			hear(what)
			for i := range 3 {
				if log := c.nodes[i].stderr.whole(); strings.Contains(log, "gossip_secret") ||
					strings.Contains(log, "other side has another") {
					t.Errorf("%s: the log of node%d says\n%s", what, i, log)
				}
			}
		}
	}
	// The old secret is no longer accepted.
	p := readyNode(t, fmt.Sprintf("storage: {engine: remote, address: '%s', secret: 'storage new'}\ncluster: "+
		"{gossip: '127.0.0.1:0', secret: old, join: ['%s']}", c.store, c.nodes[0].ready["gossip"]))
	degradedBy(t, p, "gossip_secret: ")
	if q := yamlNode(t, fmt.Sprintf("storage: {engine: remote, address: '%s', secret: 'storage old', timeout: "+
		"1s}\ncluster: {gossip: '127.0.0.1:0'}", c.store)); q.wait(startTimeout) != 1 {
		t.Error("the store accepts the old secret")
	}
}
