package query_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestScripts runs the text scripts of testdata/scripts, each on a new connection to the database of cities. A script
// is a list of blocks
//
//	query [JSON array of parameters] [-- differs: why PostgreSQL's answer is different, see TestScripts_PostgreSQL]
//	statement
//	----
//	the answer: a line of column names, the rows, the command tags, notices and errors
//
// with blank lines between them and comments at the top. A block with parameters uses the extended protocol, others the
// simple one. "time" in an answer stands for any number followed by "ms". -update writes the actual answers; check the
// diff.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	s := exectest.NewStore()
	scriptCities(s)
	_, addr := start(t, s, nil)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { script(t, addr, file) })
	}
}

// scriptCities writes the documents of the scripts.
func scriptCities(s *exectest.Store) {
	db := cities(s)
	db.Local("checkpoint", `{"_id":"_local/checkpoint","_rev":"0-1","seq":1}`)
	db.Conflict("oslo", "1-old", `{"_id":"oslo","_rev":"1-old","name":"Kristiania"}`)
}

// scriptBlock is a statement of a script and its answer.
type scriptBlock struct {
	directive, src, want string
	params               []any
	differs              string
}

func parseBlock(t *testing.T, block string) scriptBlock {
	t.Helper()
	var b scriptBlock
	var head string
	head, b.want, _ = strings.Cut(block, "\n----\n")
	b.directive, b.src, _ = strings.Cut(strings.TrimSuffix(head, "\n----"), "\n")
	list, remark, _ := strings.Cut(strings.TrimPrefix(b.directive, "query"), " -- ")
	b.differs = strings.TrimPrefix(remark, "differs: ")
	if list = strings.TrimSpace(list); list != "" {
		if err := json.Unmarshal([]byte(list), &b.params); err != nil {
			t.Fatalf("%s: %v", b.directive, err)
		}
	}
	return b
}

func scriptBlocks(t *testing.T, text string) (out []scriptBlock) {
	t.Helper()
	for _, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if strings.HasPrefix(block, "query") {
			out = append(out, parseBlock(t, block))
		}
	}
	return out
}

func noteIn(list *[]string) func(*pgconn.PgConn, *pgconn.Notice) {
	return func(_ *pgconn.PgConn, n *pgconn.Notice) {
		*list = append(*list, fmt.Sprintf("%s %s: %s", n.Severity, n.Code, n.Message))
	}
}

func script(t *testing.T, addr, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pgconn.ParseConfig("postgres://ann@" + addr + "/cities?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	cfg.OnNotice = noteIn(&notices)
	conn, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		if !strings.HasPrefix(block, "query") {
			out.WriteString(block + "\n\n")
			continue
		}
		b := parseBlock(t, block)
		src := b.src
		notices = nil
		began := time.Now()
		got := strings.TrimRight(ask(t, conn, src, b.params, &notices), "\n")
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("took %v:\n%s", d, src)
		}
		if got != b.want && !*update {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", src, got, b.want)
		}
		out.WriteString(b.directive + "\n" + src + "\n----\n" + got + "\n\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	durations = regexp.MustCompile(`\d+(\.\d+)? ms`)
	// scriptPlace matches the position of an error.
	scriptPlace = regexp.MustCompile(`^((?:ERROR|FATAL) .....) at \d+: `)
	execTime    = regexp.MustCompile(`("(?:Planning|Execution) Time": )[\d.]+`)
)

// maxShown is the number of rows of a result that a script shows, and maxPlan of a plan.
const (
	maxShown = 12
	maxPlan  = 40
)

func ask(t *testing.T, conn *pgconn.PgConn, src string, params []any, notices *[]string) string {
	var b strings.Builder
	var results []*pgconn.Result
	var err error
	if params == nil {
		results, err = conn.Exec(t.Context(), src).ReadAll()
	} else {
		values := make([][]byte, len(params))
		for i, p := range params {
			if p != nil {
				values[i] = []byte(fmt.Sprint(p))
			}
		}
		r := conn.ExecParams(t.Context(), src, values, nil, nil, nil).Read()
		results, err = []*pgconn.Result{r}, r.Err
	}
	for _, r := range results {
		if r.Err != nil && params == nil {
			continue
		}
		if len(r.FieldDescriptions) > 0 {
			names := make([]string, len(r.FieldDescriptions))
			for i, f := range r.FieldDescriptions {
				names[i] = f.Name
			}
			b.WriteString(strings.Join(names, "|") + "\n")
		}
		shown := maxShown
		if strings.HasPrefix(b.String(), "QUERY PLAN") {
			shown = maxPlan
		}
		for i, row := range r.Rows {
			if i == shown && len(r.Rows) > shown+2 {
				fmt.Fprintf(&b, "... %d more\n", len(r.Rows)-shown)
				break
			}
			fields := make([]string, len(row))
			for j, v := range row {
				if fields[j] = string(v); v == nil {
					fields[j] = "~"
				}
			}
			b.WriteString(strings.ReplaceAll(strings.Join(fields, "|"), "\n\n", "\n~\n") + "\n")
		}
		if tag := r.CommandTag.String(); tag != "" {
			b.WriteString("(" + tag + ")\n")
		}
	}
	for _, n := range *notices {
		b.WriteString(n + "\n")
	}
	if err != nil {
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			t.Fatalf("%s: %v", src, err)
		}
		fmt.Fprintf(&b, "%s %s", pe.Severity, pe.Code)
		if pe.Position > 0 {
			fmt.Fprintf(&b, " at %d", pe.Position)
		}
		b.WriteString(": " + pe.Message + "\n")
		if pe.Detail != "" {
			b.WriteString("DETAIL: " + pe.Detail + "\n")
		}
		if pe.Hint != "" {
			b.WriteString("HINT: " + pe.Hint + "\n")
		}
	}
	return execTime.ReplaceAllString(durations.ReplaceAllString(b.String(), "time ms"), "${1}0")
}
