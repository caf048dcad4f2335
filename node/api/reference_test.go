package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/api"
)

// referenceRow is a row of the table of endpoints in docs/http.md.
type referenceRow struct {
	path           string
	methods        []string
	here, comments string
}

func readReference(t *testing.T) []referenceRow {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## Endpoints and parameters\n")
	if !ok {
		t.Fatal("docs/http.md has no table of endpoints")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []referenceRow
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `/") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, referenceRow{strings.Trim(cells[0], "`"), strings.Split(cells[1], ", "), cells[2], cells[3]})
	}
	return rows
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// segments returns a path of the table as that of a request, with a name for each variable.
func (r *referenceRow) segments() []string {
	return strings.Split(strings.Trim(variable.ReplaceAllString(r.path, "x"), "/"), "/")
}

// matches reports whether the row is about an endpoint.
func (r *referenceRow) matches(e api.Endpoint) bool {
	path := strings.Split(strings.Trim(r.path, "/"), "/")
	prefix := map[string]int{"server": 0, "database": 1, "design": 3}[e.Table]
	if e.Table == "design" && (len(path) < 3 || path[1] != "_design") || len(path) <= prefix || path[prefix] != e.Segment {
		return false
	}
	rest := path[prefix+1:]
	for i, want := range e.Pattern {
		switch {
		case want == "...":
			return true
		case i >= len(rest), want == "*" && !strings.HasPrefix(rest[i], "{"), want != "*" && want != rest[i]:
			return false
		}
	}
	return len(rest) == len(e.Pattern)
}

// TestReference compares the table of endpoints in docs/http.md with the routes and with the parameters that are read.
func TestReference(t *testing.T) {
	rows := readReference(t)
	if len(rows) < 100 {
		t.Fatalf("the table has only %d rows", len(rows))
	}
	for i := range rows {
		r := &rows[i]
		if !slices.Contains([]string{"yes", "differs", "no"}, r.here) {
			t.Errorf("%s: %q is neither yes, differs nor no", r.path, r.here)
		}
		path := r.segments()
		if r.path == "/" {
			path = nil
		}
		for _, method := range r.methods {
			if r.here != "no" && !api.Handled(method, path) {
				t.Errorf("docs/http.md has %s %s, but the server has no such endpoint", method, r.path)
			}
		}
	}
	// Segments that the table writes as names of CouchDB's reference.
	special := map[string]bool{"_utils": true, "_index": true, "_temp_view": true}
	for _, e := range api.Endpoints() {
		if special[e.Segment] {
			continue
		}
		if len(e.Pattern) == 0 && e.Segment == "_node" || e.Segment == "_partition" || e.Segment == "_scheduler" ||
			len(e.Pattern) > 0 && e.Pattern[0] == "..." && e.Segment == "_view" {
			continue // only parts of paths
		}
		if !slices.ContainsFunc(rows, func(r referenceRow) bool { return r.matches(e) }) {
			t.Errorf("docs/http.md has no row for the endpoint %s of the %s: %v", e.Segment, e.Table, e.Pattern)
		}
	}
	source := apiSource(t)
	for _, r := range rows {
		if r.here == "no" {
			continue
		}
		list, _, _ := strings.Cut(r.comments, "; `")
		for _, name := range regexp.MustCompile("`([a-z][a-z_-]*)`").FindAllStringSubmatch(list, -1) {
			if !strings.Contains(source, `"`+name[1]+`"`) && !unread[name[1]] {
				t.Errorf("docs/http.md says that %s takes %s, which no code reads", r.path, name[1])
			}
		}
	}
}

// unread are parameters that do what they should without being read by name here.
var unread = map[string]bool{"query_params": true, "create_target_params": true, "create_target": true,
	"format": true /* read by functions */}

// apiSource returns the code that reads parameters.
func apiSource(t *testing.T) string {
	var all strings.Builder
	for _, room := range []string{".", "../auth", "../replicate", "../../query/mango", "../../layer/selector"} {
		err := filepath.WalkDir(room, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
