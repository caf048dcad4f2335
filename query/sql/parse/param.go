package parse

import (
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/work"
)

// FirstParam returns the number of the first parameter of a statement ("1" for $1) and its offset, or -1 if there is
// none.
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
