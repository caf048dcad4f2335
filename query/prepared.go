package query

import (
	"strings"

	"cmp"
	"time"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// prepared is a parsed and bound statement.
type prepared struct {
	text    string
	stmt    ast.Statement
	bound   *bind.Bound // of a query, also inside EXPLAIN, COPY and DECLARE; otherwise nil
	params  []types.OID
	columns []pgwire.Column // nil if it returns no rows
	size    int64           // approximate memory
	held    int64           // reserved of the session's memory
	round   int64           // the round of messages in which it was bound
	at      time.Time       // when it got its name
	fromSQL string          // the PREPARE statement that made it
	// generic counts executions without parameters, custom those with parameters.
	generic, custom int64
	habit           *habit // of its executions, also by other names
}

// source returns the text that made the statement.
func (p *prepared) source() string { return cmp.Or(p.fromSQL, p.text) }

// ran counts an execution.
func (p *prepared) ran() {
	if len(p.params) > 0 {
		p.custom++
	} else {
		p.generic++
	}
}

// errAborted refuses everything except the end of a failed transaction.
var errAborted = sqlstate.New(sqlstate.InFailedTransaction,
	"current transaction is aborted, commands ignored until end of transaction block")

// grammatical reports whether an error of the parser is one that PostgreSQL's parser reports too, also in a failed
// transaction. Options of EXPLAIN and COPY, and what Divan does not support, are judged later there.
func grammatical(err error) bool {
	e := sqlstate.From(err)
	return e.Code == sqlstate.SyntaxError && !strings.HasPrefix(e.Message, "unrecognized EXPLAIN option") &&
		!strings.HasPrefix(e.Message, "conflicting or redundant") && !strings.Contains(e.Message, " requires a")
}

// endsTransaction reports whether a statement may run in a failed transaction.
func endsTransaction(s ast.Statement) bool {
	t, ok := s.(*ast.Transaction)
	return ok && (t.Verb == "rollback" || t.Verb == "commit" || t.Verb == "rollback to")
}

// describe returns the columns for the protocol. It never returns nil: a SELECT without columns returns rows too.
func describe(cols []exec.Column) []pgwire.Column {
	out := make([]pgwire.Column, len(cols))
	for i, c := range cols {
		out[i] = pgwire.Column{Name: c.Name, OID: uint32(c.Type), Size: -1, Mod: c.Mod,
			Table: uint32(c.Origin.Relation), Number: uint16(c.Origin.Column)}
		if t := types.Lookup(c.Type); t != nil {
			out[i].Size = t.Len
		}
	}
	return out
}

func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 0:
		return 0
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

// loose reports whether a parameter is compared with jsonb.
func (p *prepared) loose(i int) bool { return p.bound != nil && p.bound.Loose(i) }
