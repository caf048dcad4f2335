package metrics_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/metrics"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

const pageHead = "# Metrics\n\n" +
	"<!-- Made from the metrics of a node: go test ./node/metrics -run TestPage -update -->\n\n" +
	"`GET /metrics` (also `/_node/_local/_prometheus`) answers with these, for Prometheus.\n" +
	"[Operations](operations.md#monitor) says which to alert on. Those of Go and of the process (`go_...`,\n" +
	"`process_...`) come in addition. The number of series does not grow with the number of databases, documents or\n" +
	"users.\n\n" +
	"| metric | type | labels | meaning |\n|---|---|---|---|\n"

// labelName matches the name of a label in a sample.
var labelName = regexp.MustCompile(`[{,]([a-z_]+)="`)

// page returns docs/metrics.md, from the metrics of a node that has done everything that it counts.
func page(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	type family struct {
		help, typ string
		labels    map[string]bool
	}
	families := map[string]*family{}
	last := &family{}
	for line := range strings.Lines(scrape(t, m)) {
		line = strings.TrimSpace(line)
		switch words := strings.SplitN(line, " ", 4); {
		case strings.HasPrefix(line, "# HELP "):
			last = &family{help: words[3], labels: map[string]bool{}}
			families[words[2]] = last
		case strings.HasPrefix(line, "# TYPE "):
			last.typ = words[3]
		default:
			for _, found := range labelName.FindAllStringSubmatch(line, -1) {
				if found[1] != "le" || last.typ != "histogram" {
					last.labels["`"+found[1]+"`"] = true
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString(pageHead)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		f := families[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, f.typ,
			strings.Join(slices.Sorted(maps.Keys(f.labels)), ", "), strings.ReplaceAll(f.help, "|", "\\|"))
	}
	return b.String()
}

// docs/metrics.md has all metrics with their help.
func TestPage(t *testing.T) {
	const file = "../../docs/metrics.md"
	want := page(t, everything())
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("docs/metrics.md is not what a node shows (%v): go test ./node/metrics -run TestPage -update", err)
	}
}
