package parse

import (
	"slices"

	"github.com/divandb/divan/query/sql/keyword"
)

// tokenKind is the lexical class of a token (PostgreSQL 15, section 4.1).
type tokenKind uint8

const (
	tEOF      tokenKind = iota
	tIdent              // unquoted: Text is folded to lower case; may be a keyword
	tQuoted             // "quoted"
	tString             // any kind of string constant: Text is its value
	tBits               // B'0101' or X'1F': Text begins with b or x
	tInteger            // digits only
	tNumber             // with a point or an exponent
	tParam              // $1: Text is the number
	tOperator           // an operator, as PostgreSQL cuts it
	tPunct              // ( ) [ ] , ; . : :: := .. =>
	tBad                // the text cannot be cut from here on
)

// token is one token. Off and End are byte offsets in the text.
type token struct {
	Kind tokenKind
	// category is that of a tIdent; bare says that it can be an alias without AS.
	category keyword.Category
	bare     bool
	Text     string
	Off, End int
}

func (t token) is(text string) bool { return t.Kind == tPunct && t.Text == text }
func (t token) op(text string) bool { return t.Kind == tOperator && t.Text == text }

// word says that t is the given key word; quoted identifiers are none.
func (t token) word(w string) bool { return t.Kind == tIdent && t.Text == w }

func (t token) words(ws ...string) bool {
	if t.Kind == tIdent {
		for _, w := range ws {
			if t.Text == w {
				return true
			}
		}
	}
	return false
}

// isName says that t can be a name of one of the categories, which all other names can.
func (t token) isName(categories ...keyword.Category) bool {
	if t.Kind == tQuoted {
		return true
	}
	if t.Kind != tIdent {
		return false
	}
	return t.category == keyword.None || slices.Contains(categories, t.category)
}

// columnName is PostgreSQL's ColId: a column, a table, an alias.
func (t token) columnName() bool { return t.isName(keyword.Unreserved, keyword.ColumnName) }

// functionName is its type_function_name.
func (t token) functionName() bool { return t.isName(keyword.Unreserved, keyword.TypeFunctionName) }

// label is its ColLabel.
func (t token) label() bool { return t.Kind == tQuoted || t.Kind == tIdent }

// bareLabel is its BareColLabel: an alias of a column without AS.
func (t token) bareLabel() bool {
	return t.Kind == tQuoted || t.Kind == tIdent && t.bare
}
