package spill

import (
	"hash/maphash"

	"github.com/divandb/divan/query/types"
)

// fanOut is the number of parts into which rows are divided, a power of two.
const (
	fanOut     = 16
	fanOutBits = 4
)

// MaxLevel is the deepest level of parts. What is still too large there consists of few different keys.
const MaxLevel = 6

// seed is that of all hashes of keys in this process. Files do not outlive it.
var seed = maphash.MakeSeed()

// Parts are runs of rows, divided by the hashes of their keys. Parts of a deeper level divide by other bits.
type Parts struct {
	level int
	runs  [fanOut]*Run
}

// NewParts returns empty parts. level is 0 for rows that have not been divided before.
func (s *Store) NewParts(level int) *Parts {
	p := &Parts{level: level}
	for i := range p.runs {
		p.runs[i] = s.NewRun()
	}
	return p
}

// Append adds a row to the part of its key.
func (p *Parts) Append(key []byte, row []types.Datum) error {
	return p.runs[maphash.Bytes(seed, key)>>(fanOutBits*p.level)%fanOut].Append(row)
}

// Seal ends the adding of rows and returns the parts, of which some may have no rows.
func (p *Parts) Seal() ([]*Run, error) {
	for _, r := range p.runs {
		if err := r.Seal(); err != nil {
			return nil, err
		}
	}
	return p.runs[:], nil
}

// Free ends all runs. The Parts may be nil.
func (p *Parts) Free() {
	if p == nil {
		return
	}
	for _, r := range p.runs {
		r.Free()
	}
}
