package collate

import "github.com/divandb/divan/layer/jsontext"

// scanner reads JSON text token by token. It accepts exactly RFC 8259. Emitted keys have been checked before, but
// keys from a query have not.
type scanner struct {
	jsontext.Scanner
	// step is called every few KB; nil for texts known to be short. seen is the position of its last call.
	step func(n int) error
	seen int
}

func newScanner(text []byte, step func(n int) error) scanner {
	return scanner{
		Scanner: jsontext.Scanner{
			Text: text,
			// A skipped value may be in a container at MaxDepth, as an encoded value may.
			Depth:  MaxDepth + 1,
			Halves: true, // they become U+FFFD
		},
		step: step,
	}
}

// stepBytes is how much is read between two calls of step.
const stepBytes = 4 << 10

// stepped calls step if the scanner has moved far enough.
func (s *scanner) stepped() error {
	if s.step == nil {
		return nil
	}
	n := s.Pos - s.seen
	if n >= 0 && n < stepBytes {
		return nil
	}
	s.seen = s.Pos
	return s.step(max(n, 0))
}

// ahead calls step for n bytes that were read without moving the scanner.
func (s *scanner) ahead(n int) error {
	if s.step == nil || n < stepBytes {
		return nil
	}
	return s.step(n)
}

// end fails unless only white space is left.
func (s *scanner) end() error { return taken(s.AtEnd()) }

// literal consumes word; the caller has seen its first byte.
func (s *scanner) literal(word string) error { return taken(s.Word(word)) }

func taken(ok bool) error {
	if !ok {
		return ErrSyntax
	}
	return nil
}

// number consumes a number and returns its text; integer reports that it has neither fraction nor exponent.
func (s *scanner) number() (text []byte, integer bool, err error) {
	text, integer, ok := s.Number()
	return text, integer, taken(ok)
}

// text consumes a string and returns its UTF-8. Without escapes the result is part of the input, otherwise it is
// built in buf. A lone surrogate becomes U+FFFD.
func (s *scanner) text(buf []byte) (text, newbuf []byte, err error) {
	quoted, escaped, ok := s.Quoted()
	if !ok {
		return nil, buf, ErrSyntax
	}
	inside := quoted[1 : len(quoted)-1]
	if !escaped {
		return inside, buf, nil
	}
	buf, ok = jsontext.AppendUnescaped(buf[:0], inside, jsontext.ReplaceHalf)
	return buf, buf, taken(ok)
}

// skip consumes a value in a container at the given depth.
func (s *scanner) skip(depth int) error {
	if !s.Value(depth) {
		if s.Deep {
			return ErrDepth
		}
		return ErrSyntax
	}
	return nil
}
