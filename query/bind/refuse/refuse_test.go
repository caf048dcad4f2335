package refuse_test

import (
	"context"
	"errors"
	"testing"

	"github.com/divandb/divan/query/bind/refuse"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// TestReadable checks that statements that write are parsed and refused with a position and a hint.
func TestReadable(t *testing.T) {
	for _, c := range []struct {
		Src string
		Pos int // byte offset, from 1
		Msg string
	}{
		{"DROP TABLE docs", 1, "DROP is not supported"},
		{"MERGE INTO docs USING a ON true WHEN MATCHED THEN DELETE", 1, "MERGE is not supported"},
		{"COPY docs FROM '/tmp/x'", 16, "COPY from a file or program is not supported"},
		{"COPY docs FROM STDIN WHERE id = 'x'", 22, "COPY FROM with WHERE is not supported"},
		{"COPY docs TO '/tmp/x'", 14, "COPY to a file or program is not supported"},
		{"COPY (DELETE FROM docs RETURNING id) TO STDOUT", 1, "COPY of what a statement writes is not supported"},
		{"PREPARE TRANSACTION 'x'", 1, "two-phase commit is not supported"},
	} {
		st, err := parse.Statement(unbounded(), c.Src)
		if err != nil {
			t.Errorf("%q: %v", c.Src, err)
			continue
		}
		_, err = refuse.Readable(st)
		var e *sqlstate.Error
		if !errors.As(err, &e) || e.Code != sqlstate.FeatureNotSupported || e.Pos != c.Pos || e.Message != c.Msg ||
			e.Hint == "" {
			t.Errorf("%q: %+v", c.Src, err)
		}
	}
}

// unbounded returns work without a limit or a deadline.
func unbounded() *work.Work { return work.New(context.Background(), nil, 0, nil) }
