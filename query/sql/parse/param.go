package parse

import (
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/work"
)

// FirstParam is the number of the first parameter of a statement, $1, and where it stands; -1 where there is none.
func FirstParam(w *work.Work, src string) (number string, at int) {
	tokens, _, err := lex.Tokens(w, src)
	if err != nil {
		return "1", -1
	}
	for _, t := range tokens {
		if t.Kind == lex.Param {
			return t.Text, t.Off
		}
	}
	return "1", -1
}
