// Package lex splits SQL into tokens with the rules and errors of PostgreSQL 15's scanner. Package parse reads the
// tokens; the list of key words is in package keyword.
package lex

import (
	"slices"
	"strconv"

	"github.com/divandb/divan/query/sql/keyword"
)

// Kind is the lexical class of a token (PostgreSQL 15, section 4.1).
type Kind uint8

// The kinds of tokens.
const (
	EOF      Kind = iota
	Ident         // unquoted: Text is folded to lower case; may be a key word
	Quoted        // "quoted"
	String        // any kind of string constant: Text is its value
	Bits          // B'0101' or X'1F': Text begins with b or x
	Integer       // digits only
	Number        // with a decimal point or an exponent
	Param         // $1: Text is the number
	Operator      // an operator as PostgreSQL's scanner reads it
	Punct         // ( ) [ ] , ; . : :: := .. =>
	Bad           // the text cannot be split from here on
)

// Token is one token. Off and End are byte offsets in the text.
type Token struct {
	Kind Kind
	// Category is the category of an Ident. bare reports whether it can be an alias without AS.
	Category keyword.Category
	bare     bool
	Text     string
	Off, End int
}

// Is reports whether t is the given punctuation.
func (t Token) Is(text string) bool { return t.Kind == Punct && t.Text == text }

// Op reports whether t is the given operator.
func (t Token) Op(text string) bool { return t.Kind == Operator && t.Text == text }

// Word reports whether t is the given key word. A quoted identifier is never a key word.
func (t Token) Word(w string) bool { return t.Kind == Ident && t.Text == w }

// Words reports whether t is one of the given key words.
func (t Token) Words(ws ...string) bool {
	if t.Kind == Ident {
		for _, w := range ws {
			if t.Text == w {
				return true
			}
		}
	}
	return false
}

// IsName reports whether t can be a name where key words of the given categories are allowed.
func (t Token) IsName(categories ...keyword.Category) bool {
	if t.Kind == Quoted {
		return true
	}
	if t.Kind != Ident {
		return false
	}
	return t.Category == keyword.None || slices.Contains(categories, t.Category)
}

// ColumnName reports whether t is PostgreSQL's ColId: a column, a table, an alias.
func (t Token) ColumnName() bool { return t.IsName(keyword.Unreserved, keyword.ColumnName) }

// FunctionName reports whether t is PostgreSQL's type_function_name.
func (t Token) FunctionName() bool { return t.IsName(keyword.Unreserved, keyword.TypeFunctionName) }

// Label reports whether t is PostgreSQL's ColLabel.
func (t Token) Label() bool { return t.Kind == Quoted || t.Kind == Ident }

// BareLabel reports whether t is PostgreSQL's BareColLabel: a column alias without AS.
func (t Token) BareLabel() bool {
	return t.Kind == Quoted || t.Kind == Ident && t.bare
}

// IsInt reports whether t is an integer of 32 bits, PostgreSQL's ICONST.
func (t Token) IsInt() bool {
	if t.Kind != Integer {
		return false
	}
	_, err := strconv.ParseInt(t.Text, 10, 32)
	return err == nil
}
