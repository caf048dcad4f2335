package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/node/config"
)

func TestConfig_Shown(t *testing.T) {
	c := config.Default()
	c.Admins = map[string]string{"bob": "hunter2", "anna": "hunter2"}
	c.AdminPassword = map[string]string{"anna": "hunter2"}
	c.Cluster.Secret, c.Cluster.AcceptSecrets = "hunter2", []string{"hunter2"}
	c.Storage.Secret, c.Storage.AcceptSecrets = "hunter2", []string{"hunter2"}
	c.Storage.TLS.Password = "hunter2"
	c.Auth.Secret, c.HTTP.MetricsToken = "hunter2", "hunter2"
	c.Cluster.Join = []string{"a:1", "b:2"}
	c.SQL.Listen = "127.0.0.1:1"
	got := map[string]config.Setting{}
	for _, s := range c.Shown() {
		got[s.Path] = s
		if strings.Contains(s.Value+s.Default, "hunter2") {
			t.Errorf("%s shows a secret: %q", s.Path, s.Value)
		}
	}
	if len(got) != len(config.Paths()) {
		t.Errorf("%d of %d settings", len(got), len(config.Paths()))
	}
	for path, want := range map[string]config.Setting{
		"admins":         {"admins", "anna, bob", ""},
		"cluster.secret": {"cluster.secret", "(secret)", ""},
		"cluster.join":   {"cluster.join", "a:1, b:2", ""},
		"sql.listen":     {"sql.listen", "127.0.0.1:1", "127.0.0.1:5433"},
		"auth.timeout":   {"auth.timeout", "10m0s", "10m0s"},
		"sql.memory":     {"sql.memory", fmt.Sprint(c.SQL.Memory), fmt.Sprint(c.SQL.Memory)},
	} {
		if got[path] != want {
			t.Errorf("%s: %+v", path, got[path])
		}
	}
}
