package spill

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"sort"

	"github.com/divandb/divan/query/types"
)

// hashed is a run of rows in the order of their hashes, with an index in memory. The first column of a row is the hash
// of its key, the second one the key.
type hashed struct {
	run    *Run
	fences []uint64 // the hashes of the rows at the marks of run
	filter filter
}

// newHashed returns a run for about that many rows.
func (s *Store) newHashed(rows int64) *hashed {
	h := &hashed{run: s.newIndexed()}
	if size := filterSize(rows); size <= s.work.Share() && s.work.Hold(size) == nil { // else it is read more often
		h.filter = make(filter, size/8)
	}
	return h
}

// unfilter releases the memory of the filter.
func (h *hashed) unfilter() {
	h.run.store.work.Release(int64(len(h.filter)) * 8)
	h.filter = nil
}

func hashOf(key []byte) uint64 { return maphash.Bytes(seed, key) }

// byHash compares two rows of a hashed run.
func byHash(a, b []types.Datum, _ *error) int { return cmp.Compare(uint64(a[0].I), uint64(b[0].I)) }

// append adds a row. Rows come in the order of their hashes.
func (h *hashed) append(row []types.Datum) error {
	if err := h.run.Append(row); err != nil {
		return err
	}
	h.filter.add(uint64(row[0].I))
	if len(h.fences) < len(h.run.marks) {
		h.fences = append(h.fences, uint64(row[0].I))
	}
	return nil
}

// find places a reader at the rows with a hash, or before them.
func (h *hashed) find(r *Reader, hash uint64) error {
	i := sort.Search(len(h.fences), func(i int) bool { return h.fences[i] >= hash })
	return r.SkipTo(h.run.marks[max(i-1, 0)].row)
}

// next returns the next row of a key, or io.EOF.
func (h *hashed) next(r *Reader, hash uint64, key string) ([]types.Datum, error) {
	for {
		row, err := r.Next()
		if err != nil {
			return nil, err
		}
		switch at := uint64(row[0].I); {
		case at > hash:
			return nil, io.EOF
		case at == hash && row[1].S == key:
			return row, nil
		}
	}
}

// maxSetRuns is the number of runs of a Set above which they are merged.
const maxSetRuns = 6

// Set is a set of keys. If memory is short its keys go to the temporary file, where they are still found.
type Set struct {
	store *Store
	keys  map[string]struct{}
	held  int64
	runs  []*hashed
	reads []*Reader // one for each of runs
	disk  int64
}

// NewSet returns an empty set. The caller must free it.
func (s *Store) NewSet() *Set { return &Set{store: s, keys: map[string]struct{}{}} }

// Add adds a key. It returns false if the set has it already.
func (s *Set) Add(key []byte) (bool, error) {
	if found, err := s.Has(key); found || err != nil {
		return false, err
	}
	n := int64(len(key)) + 64
	if err := s.store.Hold(n, s.held, s.spill); err != nil {
		return false, err
	}
	s.held += n
	s.keys[string(key)] = struct{}{}
	return true, nil
}

// Has reports whether the set has a key. The Set may be nil.
func (s *Set) Has(key []byte) (bool, error) {
	if s == nil {
		return false, nil
	}
	if _, found := s.keys[string(key)]; found || len(s.runs) == 0 {
		return found, nil
	}
	hash := hashOf(key)
	for i, h := range s.runs {
		if !h.filter.mayHave(hash) {
			continue
		}
		if err := h.find(s.reads[i], hash); err != nil {
			return false, err
		}
		_, err := h.next(s.reads[i], hash, string(key))
		if !errors.Is(err, io.EOF) {
			return err == nil, err
		}
	}
	return false, nil
}

// spill writes the keys in memory as a run.
func (s *Set) spill() error {
	rows := make([][]types.Datum, 0, len(s.keys))
	for k := range s.keys {
		rows = append(rows, []types.Datum{types.NewInt(int64(hashOf([]byte(k)))), types.NewText(k)})
	}
	slices.SortFunc(rows, func(a, b []types.Datum) int { return byHash(a, b, nil) })
	s.store.work.Release(s.held)
	s.held, s.keys = 0, map[string]struct{}{}
	h := s.store.newHashed(int64(len(rows)))
	s.keep(h)
	for _, row := range rows {
		if err := h.append(row); err != nil {
			return err
		}
	}
	if err := h.run.Seal(); err != nil {
		return err
	}
	s.disk += h.run.Size()
	if len(s.runs) > maxSetRuns {
		return s.merge()
	}
	return nil
}

func (s *Set) keep(h *hashed) {
	s.runs, s.reads = append(s.runs, h), append(s.reads, h.run.NewReader(2))
}

// merge makes one run of all.
func (s *Set) merge() error {
	m := &Sorter{store: s.store, width: 2, compare: byHash}
	defer m.Close()
	rows := int64(0)
	for i, h := range s.runs {
		s.reads[i].Close()
		rows += h.run.rows
		h.unfilter()
		h.run.release()
		m.runs = append(m.runs, h.run)
	}
	s.runs, s.reads = nil, nil
	if err := m.begin(m.runs); err != nil {
		return err
	}
	out := s.store.newHashed(rows)
	s.keep(out)
	for {
		row, err := m.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = out.append(row)
		}
		if err != nil {
			return err
		}
	}
	s.disk += out.run.Size()
	return out.run.Seal()
}

// Disk returns how many bytes were written. The Set may be nil.
func (s *Set) Disk() int64 {
	if s == nil {
		return 0
	}
	return s.disk
}

// Free releases everything. The Set may be nil.
func (s *Set) Free() {
	if s == nil {
		return
	}
	s.store.work.Release(s.held)
	for i, h := range s.runs {
		s.reads[i].Close()
		h.unfilter()
		h.run.Free()
	}
	s.keys, s.held, s.runs, s.reads = map[string]struct{}{}, 0, nil, nil
}

// Table finds rows by their keys. All rows are added before the first one is looked for. What does not fit into memory
// is in the temporary file.
type Table struct {
	store *Store
	width int
	rows  map[string][][]types.Datum
	held  int64
	len   int64
	sort  *Sorter // instead of rows, while rows are added
	disk  *hashed // afterwards
	read  *Reader
}

// NewTable returns an empty table of rows of that many columns. The caller must free it.
func (s *Store) NewTable(width int) *Table {
	return &Table{store: s, width: width, rows: map[string][][]types.Datum{}}
}

// Len returns the number of rows. The Table may be nil.
func (t *Table) Len() int64 {
	if t == nil {
		return 0
	}
	return t.len
}

// Add adds a row, which it copies. The values are kept.
func (t *Table) Add(key []byte, row []types.Datum) error {
	t.len++
	if t.sort == nil {
		n := RowSize(row) + int64(len(key)) + 64
		if err := t.store.Hold(n, t.held, t.spill); err != nil {
			return err
		}
		if t.sort == nil {
			t.held += n
			t.rows[string(key)] = append(t.rows[string(key)], types.Own(row))
			return nil
		}
		t.store.work.Release(n)
	}
	return t.add(string(key), row)
}

func (t *Table) add(key string, row []types.Datum) error {
	return t.sort.Add(append([]types.Datum{types.NewInt(int64(hashOf([]byte(key)))), types.NewText(key)}, row...))
}

func (t *Table) spill() error {
	if t.sort != nil {
		return nil
	}
	t.sort = t.store.NewSorter(t.width+2, byHash)
	rows := t.rows
	t.rows = nil
	t.store.work.Release(t.held)
	t.held = 0
	for key, list := range rows {
		for _, row := range list {
			if err := t.add(key, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Done ends the adding of rows.
func (t *Table) Done() error {
	if t.sort == nil {
		return nil
	}
	if err := t.sort.Sort(); err != nil {
		return err
	}
	t.disk = t.store.newHashed(t.len)
	for {
		row, err := t.sort.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.disk.append(row)
		}
		if err != nil {
			return err
		}
	}
	t.sort.Close()
	t.sort = nil
	t.read = t.disk.run.NewReader(t.width + 2)
	return t.disk.run.Seal()
}

// Disk returns how many bytes are in the temporary file. The Table may be nil.
func (t *Table) Disk() int64 {
	if t == nil || t.disk == nil {
		return 0
	}
	return t.disk.run.Size()
}

// Matches are the rows of one key, in the order in which they were added.
type Matches struct {
	table *Table
	rows  [][]types.Datum
	at    int64 // the next row of the run; -1 before the first one
	hash  uint64
	key   string
}

// Find returns the rows of a key. Several Matches of a table may be read at a time.
func (t *Table) Find(key []byte) Matches {
	if t.disk == nil {
		return Matches{rows: t.rows[string(key)]}
	}
	return Matches{table: t, at: -1, hash: hashOf(key), key: string(key)}
}

// Next returns the next row, or io.EOF. It is valid until another row of the table is read.
func (m *Matches) Next() ([]types.Datum, error) {
	if m.table == nil {
		if len(m.rows) == 0 {
			return nil, io.EOF
		}
		row := m.rows[0]
		m.rows = m.rows[1:]
		return row, nil
	}
	h, r := m.table.disk, m.table.read
	var err error
	if m.at < 0 {
		if !h.filter.mayHave(m.hash) {
			return nil, io.EOF
		}
		err = h.find(r, m.hash)
	} else {
		err = r.SkipTo(m.at)
	}
	if err != nil {
		return nil, err
	}
	row, err := h.next(r, m.hash, m.key)
	if err != nil {
		return nil, err
	}
	m.at = r.read
	return row[2:], nil
}

// Free releases everything. The Table may be nil.
func (t *Table) Free() {
	if t == nil {
		return
	}
	t.store.work.Release(t.held)
	t.sort.Close()
	t.read.Close()
	if t.disk != nil {
		t.disk.unfilter()
		t.disk.run.Free()
	}
	t.rows, t.sort, t.disk, t.read, t.held = nil, nil, nil, nil, 0
}
