package jstext

// Rows are the rows that functions have emitted for one document. Its memory is reused for the next one.
type Rows struct {
	// Text holds the keys and values, concatenated. It may move while it grows.
	Text []byte
	Rows []Row
}

// Row locates a row of a function in the text.
type Row struct{ Function, Key, Value, End int }

// Mark is a position in Rows to cut it off at.
type Mark struct{ text, rows int }

// Mark returns the current end.
func (r *Rows) Mark() Mark { return Mark{len(r.Text), len(r.Rows)} }

// Cut drops what was added since the mark.
func (r *Rows) Cut(m Mark) { r.Text, r.Rows = r.Text[:m.text], r.Rows[:m.rows] }

// Since returns how many bytes were added since the mark.
func (r *Rows) Since(m Mark) int { return len(r.Text) - m.text }
