// Package revtree is the pure part of the revision model: revision ids, branches, winner, stemming, merge. It does no I/O.
package revtree

// Rev is a revision id. ID is 32 lower-case hex digits for revisions that CouchDB or Divan made; clients that replicate may bring any other text.
// The zero Rev is none.
type Rev struct {
	Pos int64
	ID  string
}

// IsZero reports whether r is none.
func (r Rev) IsZero() bool { return r == Rev{} }

// String is "POS-ID".
func (r Rev) String() string { panic("unwritten") }

// ParseRev reads "POS-ID"; 32 hex digits are lower-cased. The error says what is malformed.
func ParseRev(s string) (Rev, error) { panic("unwritten") }
