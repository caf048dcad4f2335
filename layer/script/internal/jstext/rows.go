package jstext

// Rows are the rows that functions have emitted for one document. Its memory is used again for the next.
type Rows struct {
	// Text holds keys and values, one behind the other. It may move while it grows.
	Text []byte
	Rows []Row
}

// Row is where a row of a function is in the text.
type Row struct{ Function, Key, Value, End int }

// Mark is a place in Rows, to cut it off at.
type Mark struct{ text, rows int }

// Mark is the present end.
func (r *Rows) Mark() Mark { return Mark{len(r.Text), len(r.Rows)} }

// Cut drops what was added since the mark.
func (r *Rows) Cut(m Mark) { r.Text, r.Rows = r.Text[:m.text], r.Rows[:m.rows] }

// Since is how many bytes were added since the mark.
func (r *Rows) Since(m Mark) int { return len(r.Text) - m.text }
