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

func (parted) InParts(table, database string) bool { return table == "pieces" && database == "divan" }

func (p parted) Part(_ context.Context, _, after string) (string, iter.Seq2[[]any, error], error) {
	last, _ := strconv.Atoi(after)
	if last == partCount {
		return "", nil, nil
	}
	*p.read++
	name := fmt.Sprintf("%04d", last+1)
	return name, func(yield func([]any, error) bool) {
		for i := range partRows {
			if !yield([]any{name, int64(i), fmt.Sprintf("%200d", i)}, nil) {
				return
			}
		}
	}, nil
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
		{"SELECT part, n FROM divan.pieces LIMIT 12", "0002|1", 2},
		{"SELECT count(*), max(part), sum(n) FROM divan.pieces", "20000|2000|90000", partCount},
		{"SELECT count(*) FROM divan.pieces a JOIN divan.pieces b USING (part, n)", "20000", partCount},
		{"SELECT (SELECT count(*) FROM divan.pieces), part FROM divan.pieces LIMIT 1", "20000|0001", partCount},
	} {
		read = 0
		got, err := run(t.Context(), ss, c.sql, 100)
		if err != nil || len(got) == 0 || !slices.Contains(got[len(got)-1:], c.want) || read != c.parts {
			t.Errorf("%s: %q, %v; %d parts read", c.sql, got, err, read)
		}
	}
}
