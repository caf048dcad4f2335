package metrics_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// monitoring has the dashboard and the alerts for operators.
const monitoring = "../../scripts/monitoring"

// metricNames finds names of metrics in an expression: of Divan, or of every Go program.
var metricNames = regexp.MustCompile(`\b(?:divan|couchdb|protoactor|process|go)_[a-z0-9_]+`)

// exprs returns the expressions of the dashboard and the alerts, with the files that they are in.
func exprs(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	text, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if p.Title == "" || ids[p.ID] || len(p.Targets) == 0 {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			found[target.Expr] = "dashboard.json"
		}
	}
	if text, err = os.ReadFile(filepath.Join(monitoring, "alerts.yaml")); err != nil {
		t.Fatal(err)
	}
	var alerts struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &alerts); err != nil {
		t.Fatal(err)
	}
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			found[rule.Expr] = "alerts.yaml"
		}
	}
	return found
}

// docs/operations.md says of each alert what it means.
func TestMonitoring_AlertsExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(monitoring, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var alerts struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	if err := yaml.Unmarshal(text, &alerts); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, rule := range alerts.Groups[0].Rules {
		known[rule.Alert] = true
		if !strings.Contains(string(page), "\n| `"+rule.Alert+"` |") {
			t.Errorf("docs/operations.md has no row for %s", rule.Alert)
		}
	}
	for _, row := range regexp.MustCompile("\n\\| `(Divan[A-Z]\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		if !known[row[1]] {
			t.Errorf("docs/operations.md has a row for %s, which is no alert", row[1])
		}
	}
}

// Each metric in the dashboard and the alerts exists.
func TestMonitoring_MetricsExist(t *testing.T) {
	published := "\n" + scrape(t, everything())
	all := exprs(t)
	if len(all) < 30 {
		t.Errorf("only %d expressions found", len(all))
	}
	for expr, file := range all {
		names := metricNames.FindAllString(expr, -1)
		if len(names) == 0 && !strings.HasPrefix(expr, "up{") {
			t.Errorf("%s: no metric in %s", file, expr)
		}
		for _, name := range names {
			if !strings.Contains(published, "\n"+name+"{") && !strings.Contains(published, "\n"+name+" ") {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
		if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
			t.Errorf("%s: brackets of %s", file, expr)
		}
	}
}

// Prometheus reads the alerts and the expressions of the dashboard.
func TestMonitoring_Promtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool in the PATH")
	}
	rules := "groups:\n- name: dashboard\n  rules:\n"
	for expr := range exprs(t) {
		quoted, _ := json.Marshal(strings.ReplaceAll(expr, "$__rate_interval", "5m")) // a string always encodes
		rules += "  - {record: a, expr: " + string(quoted) + "}\n"
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file, filepath.Join(monitoring, "alerts.yaml")} {
		if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
