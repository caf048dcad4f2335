package charset

// Stream decodes a text that comes in pieces.
type Stream struct {
	encoding *Encoding
	rest     string // the beginning of a character
}

// NewStream returns a Stream. It is nil if nothing has to be converted.
func NewStream(e *Encoding) *Stream {
	if !e.Converts() {
		return nil
	}
	return &Stream{encoding: e}
}

// Decode returns the next piece in UTF-8; last is set for the end of the text. The Stream may be nil.
func (s *Stream) Decode(piece []byte, last bool) ([]byte, error) {
	if s == nil {
		return piece, nil
	}
	text := s.rest + string(piece)
	s.rest = ""
	if w := s.encoding.wide; w != nil && !last {
		whole := 0
		for whole < len(text) {
			n, _ := w.character(text[whole:])
			if whole+n > len(text) {
				break
			}
			whole += n
		}
		text, s.rest = text[:whole], text[whole:]
	}
	out, err := s.encoding.Decode(text)
	return []byte(out), err
}
