package query_test

import (
	"context"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/exectest"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// parted is a catalog with a relation in 2,000 parts of 10 rows.
type parted struct {
	*exectest.Store
	read *int // parts that were read
}

const (
	partCount = 2000
	partRows  = 10
)

func (parted) SystemTables() []exec.SystemTable {
	return []exec.SystemTable{{Name: "pieces", Columns: []exec.SystemColumn{{Name: "part", Type: "text"},
		{Name: "n", Type: "int8"}, {Name: "pad", Type: "text"}}}}
}

func (parted) PartColumn(table, database string) string {
	if table == "pieces" && database == "divan" {
		return "part"
	}
	return ""
}

func (parted) PartsAfter(_ context.Context, after string, most int) (names []string, err error) {
	last, _ := strconv.Atoi(after)
	for i := last + 1; i <= min(last+most, partCount); i++ {
		names = append(names, fmt.Sprintf("%04d", i))
	}
	return names, nil
}

func (p parted) Parts(_ context.Context, _ string, names []string) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, name := range names {
			*p.read++
			if n, err := strconv.Atoi(name); err != nil || n > partCount {
				continue
			}
			for i := range partRows {
				if !yield([]any{name, int64(i), fmt.Sprintf("%200d", i)}, nil) {
					return
				}
			}
		}
	}
}

// A relation in parts is read as far as its rows are needed, once in a statement, and its rows that do not fit in
// memory go to the temporary file.
func TestSession_SystemParts(t *testing.T) {
	read := 0
	files, err := spill.New(spill.Dir(t.TempDir()), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	srv := query.NewServer(query.Options{Memory: work.Limits{Statement: 1 << 20}, Temp: files,
		Catalog: func(context.Context, query.Principal) (exec.Catalog, error) {
			return parted{exectest.NewStore(), &read}, nil
		}})
	ss, err := srv.Open(t.Context(), pgwire.Start{User: "ann", Database: "divan", PID: 1, Since: time.Now(),
		Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}, silent{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sql, want string
		parts     int
	}{
		{"SELECT part, n FROM divan.pieces LIMIT 12", "0002|1", 3},
		{"SELECT count(*), max(part), sum(n) FROM divan.pieces", "20000|2000|90000", partCount},
		{"SELECT count(*) FROM divan.pieces a JOIN divan.pieces b USING (part, n)", "20000", partCount},
		{"SELECT count(*), min(part) FROM divan.pieces WHERE part = '0777'", "10|0777", 1},
		{"SELECT count(*) FROM divan.pieces WHERE part = '0777' AND n > 3", "6", 1},
		{"SELECT count(*) FROM divan.pieces WHERE part IN ('0777', '0003', 'none', NULL)", "20", 3},
		{"SELECT count(*) FROM divan.pieces WHERE part = ANY('{0777,0003}') AND part <> '0003'", "10", 2},
		{"SELECT count(*) FROM divan.pieces WHERE part IN ('0777', '0003') AND part > '0003'", "10", 1},
		{"SELECT count(*) FROM divan.pieces WHERE part = '0777' AND part = '0778'", "0", 0},
		{"SELECT count(*) FROM divan.pieces WHERE part = NULL", "0", 0},
		{"SELECT count(*) FROM divan.pieces WHERE part = '0777' OR n = 3", "2009", partCount},
		{"SELECT count(*) FROM divan.pieces WHERE part > '1990'", "100", partCount},
		{"SELECT count(*) FROM divan.pieces a, divan.pieces b WHERE a.part = '0001' AND b.part = '0002'", "100", 2},
		{"SELECT count(*) FROM divan.pieces a JOIN divan.pieces b USING (part, n) WHERE a.part = '0001' AND " +
			"b.part = '0001'", "10", 1},
		{"SELECT count(*) FROM divan.pieces a LEFT JOIN divan.pieces b ON b.n = a.n AND b.part = '0002' " +
			"WHERE a.part = '0001'", "10", 2},
		{"SELECT count(*) FROM divan.pieces a WHERE part = '0001' AND EXISTS (SELECT FROM divan.pieces b " +
			"WHERE b.part = '0002' AND b.n = a.n)", "10", 2},
		{"SELECT (SELECT count(*) FROM divan.pieces), part FROM divan.pieces LIMIT 1", "20000|0001", partCount},
	} {
		read = 0
		got, err := run(t.Context(), ss, c.sql, 100)
		if err != nil || len(got) == 0 || !slices.Contains(got[len(got)-1:], c.want) || read != c.parts {
			t.Errorf("%s: %q, %v; %d parts read", c.sql, got, err, read)
		}
	}
	for sql, want := range map[string][]string{
		"SELECT n FROM divan.pieces WHERE part IN ('0001', 'it''s') AND n > 3": {"System Read on divan.pieces",
			"  Range: part = '0001' or part = 'it''s'", "  Filter: (n > 3)"},
		"SELECT n FROM divan.pieces WHERE part < '0001' AND part = '0002'": {"Nothing",
			"  Reason: no part satisfies WHERE"},
	} {
		if got, err := run(t.Context(), ss, "EXPLAIN (COSTS off) "+sql, 100); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", sql, got, err)
		}
	}
}

// lacking is a catalog with a relation whose rows of two nodes are missing, which it finds out more than once.
type lacking struct{ *exectest.Store }

func (lacking) SystemTables() []exec.SystemTable {
	return []exec.SystemTable{{Name: "things", Columns: []exec.SystemColumn{{Name: "n", Type: "int8"}}}}
}

func (lacking) SystemRows(ctx context.Context, _, _ string) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, node := range []string{"a", "b", "a"} {
			exec.Warn(ctx, node+" is silent")
		}
		yield([]any{int64(1)}, nil)
	}
}

type noting struct {
	silent
	notes *[]string
}

func (n noting) Notice(e *sqlstate.Error) { *n.notes = append(*n.notes, string(e.Code)+" "+e.Message) }

// A statement warns once of each thing that a relation lacks.
func TestSession_SystemWarnings(t *testing.T) {
	srv := query.NewServer(query.Options{Catalog: func(context.Context, query.Principal) (exec.Catalog, error) {
		return lacking{exectest.NewStore()}, nil
	}})
	var notes []string
	ss, err := srv.Open(t.Context(), pgwire.Start{User: "ann", Database: "divan", PID: 1, Since: time.Now(),
		Remote: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}, noting{notes: &notes})
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t.Context(), ss, "SELECT count(*) FROM divan.things x, divan.things y", 100)
	if err != nil || !slices.Equal(got, []string{"1"}) ||
		!slices.Equal(notes, []string{"01000 a is silent", "01000 b is silent"}) {
		t.Errorf("%q, %v; %q", got, err, notes)
	}
}
