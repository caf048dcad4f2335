package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

// adminsKept are admins that can be added. The node has one once there are any.
type adminsKept map[string]string

func (a adminsKept) Admins() map[string]string { return a }

func (a adminsKept) SetAdmin(_ context.Context, name, password string) (string, error) {
	a[name] = password
	return password, nil
}

func (a adminsKept) DeleteAdmin(context.Context, string) error { return nil }

// setupAuth lets everyone in, and has admins once some were added.
type setupAuth struct {
	testAuth
	admins adminsKept
}

func (a setupAuth) HasAdmins() bool { return len(a.admins) > 0 }

// otherMembers is a cluster.
type otherMembers []api.Member

func (m otherMembers) Members() []api.Member { return m }

// A node alone, and one of several, say what they are and do what a script asks, or why they do not.
func TestSetup(t *testing.T) {
	post := func(s *server, body string) string {
		a := s.ask(t, "POST", "/_cluster_setup", body)
		return a.error + ":" + a.reason
	}
	state := func(s *server) string {
		return strings.TrimSpace(s.ask(t, "GET", "/_cluster_setup", "").body)
	}
	admins := adminsKept{}
	options := func(o *api.Options) {
		o.Admins, o.Auth = admins, setupAuth{admins: admins}
		o.Settings = api.NewSettings(nil)
		o.Settings.Fix("chttpd", "bind_address", "0.0.0.0")
		o.Settings.Fix("chttpd", "port", "5984")
	}
	s := serve(t, options)
	steps := []struct{ body, answer, state string }{
		{`{"action":"enable_single_node"}`,
			"bad_request:Cluster setup requires admin account to be configured", "single_node_disabled"},
		{`{"action":"enable_single_node","username":"anna","password":"secret","port":1}`,
			"bad_request:port is 5984: it is read at the start, from http.listen in node.yaml.", "single_node_disabled"},
		{`{"action":"enable_single_node","username":"anna","password":"secret","bind_address":"127.0.0.1"}`,
			"bad_request:bind_address is 0.0.0.0: it is read at the start, from http.listen in node.yaml.",
			"single_node_disabled"},
		{`{"action":"enable_cluster","username":"anna","password":"secret","bind_address":"::","port":5984,` +
			`"node_count":"1"}`, ":", "single_node_disabled"},
		{`{"action":"enable_cluster","username":"bert","password":"secret","node_count":"3"}`,
			"bad_request:Cluster is already enabled", "single_node_disabled"},
		{`{"action":"enable_single_node","username":"anna","password":"other","port":"5984","singlenode":true}`, ":",
			"single_node_enabled"},
		{`{"action":"finish_cluster"}`, "bad_request:Cluster is already finished", "single_node_enabled"},
		{`{"action":"enable_single_node","username":"anna","password":"secret","singlenode":true}`, ":",
			"single_node_enabled"}, // a script that runs again
		{`{"action":"enable_single_node"}`, ":", "single_node_enabled"},
		{`{"action":"add_node","host":"10.0.0.2","port":5984,"username":"anna","password":"secret"}`,
			"bad_request:Nodes join each other by gossip: set cluster.join in the node.yaml of the new node.",
			"single_node_enabled"},
		{`{"action":"receive_cookie","cookie":"x"}`,
			"bad_request:Nodes are members while they run. There is nothing to remove, and no cookie.",
			"single_node_enabled"},
	}
	for _, step := range steps {
		if got := post(s, step.body); got != step.answer {
			t.Errorf("%s: %s", step.body, got)
		}
		if got := state(s); got != `{"state":"`+step.state+`"}` {
			t.Errorf("after %s: %s", step.body, got)
		}
	}
	if admins["anna"] != "secret" || len(admins) != 1 {
		t.Errorf("admins: %v", admins)
	}
	for _, name := range []string{"_users", "_replicator"} {
		if text := s.ask(t, "GET", "/"+name+"/_security", "").body; !strings.Contains(text, "_admin") {
			t.Errorf("%s: %s", name, text)
		}
	}

	admins = adminsKept{}
	s = serve(t, func(o *api.Options) {
		options(o)
		o.Members = otherMembers{{Name: "a", Status: "alive", Self: true, HTTP: "10.0.0.1:5984"},
			{Name: "b", Status: "alive", HTTP: "10.0.0.2:5984"}}
	})
	for _, step := range []struct{ body, answer, state string }{
		{`{"action":"enable_cluster","username":"anna","password":"secret"}`, ":", "cluster_enabled"},
		{`{"action":"add_node","host":"10.0.0.2","port":5984,"username":"anna","password":"secret"}`, ":",
			"cluster_enabled"},
		{`{"action":"finish_cluster"}`, ":", "cluster_finished"},
	} {
		if got := post(s, step.body); got != step.answer {
			t.Errorf("%s: %s", step.body, got)
		}
		if got := state(s); got != `{"state":"`+step.state+`"}` {
			t.Errorf("after %s: %s", step.body, got)
		}
	}
}
