package groups

import (
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// groupSpills is what a Grouping has in temporary files.
type groupSpills struct {
	// collected holds, for each call that needs it, rows of: the number of the group, the hash of the arguments with
	// DISTINCT, whether they have been accumulated already, the arguments, and what they are sorted by.
	collected []*spill.Sorter
	// next is for each call the row that follows those of the last group, nil at the end.
	next [][]types.Datum
	// loose is the memory of the rows and hashes that collected would take.
	loose int64

	// parts are the rows of groups that came after memory was short: the number of the set, the keys, and the row.
	parts   *spill.Parts
	level   int
	now     *spill.Run // the part being read; nil for the input
	from    *spill.Reader
	waiting []groupPart
	read    int64 // parts
	disk    int64
}

type groupPart struct {
	level int
	run   *spill.Run
}

// The columns of collected rows.
const (
	collectedGroup = iota
	collectedHash
	collectedBefore
	collectedArgs
)

// relieve makes room: it moves what aggregates have collected to files if there is any, otherwise it lets the rows of
// new groups wait.
func (s *groupSpills) relieve(g *Grouping) error {
	if s.loose > 0 {
		return s.collectAll(g)
	}
	if s.parts == nil && s.level < spill.MaxLevel && (len(g.Keys) > 0 || g.Sets != nil) {
		s.parts = g.env.Spill.NewParts(s.level)
	}
	return nil
}

// sorter makes the Sorter of a call.
func (s *groupSpills) sorter(g *Grouping, call int) {
	if s.collected == nil {
		s.collected = make([]*spill.Sorter, len(g.Calls))
		s.next = make([][]types.Datum, len(g.Calls))
	}
	c := &g.Calls[call]
	keys := []exec.SortKey{{Index: collectedGroup}}
	for _, k := range c.OrderKeys {
		k.Index += collectedArgs
		keys = append(keys, k)
	}
	if c.Distinct {
		// What has been accumulated already comes first.
		keys = append(keys, exec.SortKey{Index: collectedHash}, exec.SortKey{Index: collectedBefore, Desc: true})
	}
	s.collected[call] = g.env.Spill.NewSorter(collectedArgs+len(c.Args)+len(c.Order),
		func(a, b []types.Datum, fail *error) int { return g.env.CompareRows(a, b, keys, fail) })
}

// collectAll moves the rows and hashes that aggregates with ORDER BY and DISTINCT have collected to files.
func (s *groupSpills) collectAll(g *Grouping) error {
	g.env.Release(s.loose)
	g.held -= s.loose
	s.loose = 0
	for i := range g.Calls {
		c := &g.Calls[i]
		if !c.Distinct && len(c.Order) == 0 || s.collects(i) {
			continue
		}
		s.sorter(g, i)
		for _, grp := range g.groups {
			a := &grp.accs[i]
			for _, row := range a.rows {
				if err := s.collect(g, grp.at, i, row[:len(c.Args)], row[len(c.Args):]); err != nil {
					return err
				}
			}
			if len(c.Order) == 0 {
				for h := range a.seen {
					row := make([]types.Datum, collectedArgs+len(c.Args))
					row[collectedGroup], row[collectedHash] = types.NewInt(int64(grp.at)), types.NewBytes([]byte(h))
					row[collectedBefore] = types.NewBool(true)
					if err := s.collected[i].Add(row); err != nil {
						return err
					}
				}
			}
			a.rows, a.seen = nil, nil
		}
	}
	return nil
}

// collect adds a row to those of a call. order is what it is sorted by, or nil if it must be computed.
func (s *groupSpills) collect(g *Grouping, grp, call int, args, order []types.Datum) (err error) {
	c := &g.Calls[call]
	row := make([]types.Datum, collectedArgs, collectedArgs+len(args)+len(c.Order))
	row[collectedGroup], row[collectedBefore] = types.NewInt(int64(grp)), types.NewBool(false)
	if c.Distinct {
		h, err := g.hash(args)
		if err != nil {
			return err
		}
		row[collectedHash] = types.NewBytes(h)
	}
	if order == nil && len(c.Order) > 0 {
		if args, err = g.ordered(c, args); err != nil {
			return err
		}
	}
	return s.collected[call].Add(append(append(row, args...), order...))
}

// grown collects further rows of a call whose results need much memory, to be added group by group.
func (s *groupSpills) grown(g *Grouping, call int) error {
	switch {
	case s.collects(call):
		return nil
	case g.Calls[call].Distinct: // with the arguments that it has had
		return s.collectAll(g)
	}
	s.sorter(g, call)
	return nil
}

// collects reports whether rows of a call are collected in a file.
func (s *groupSpills) collects(call int) bool { return s.collected != nil && s.collected[call] != nil }

// sort ends the collecting.
func (s *groupSpills) sort() error {
	for i, c := range s.collected {
		if c == nil {
			continue
		}
		if err := c.Sort(); err != nil {
			return err
		}
		s.disk += c.Disk()
		if err := s.advance(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *groupSpills) advance(call int) (err error) {
	if s.next[call], err = s.collected[call].Next(); errors.Is(err, io.EOF) {
		s.next[call] = nil
		return nil
	}
	return err
}

// replay adds the collected rows of a group to an aggregate.
func (s *groupSpills) replay(g *Grouping, grp *group, call int) error {
	if !s.collects(call) {
		return nil
	}
	c := &g.Calls[call]
	var last types.Datum // the hash of the last row
	for s.next[call] != nil && s.next[call][collectedGroup].I == int64(grp.at) {
		row := s.next[call]
		if h := row[collectedHash]; !c.Distinct || last.IsNull() || h.S != last.S {
			last = h
			if !row[collectedBefore].True() {
				args := append([]types.Datum(nil), row[collectedArgs:collectedArgs+len(c.Args)]...)
				if err := g.accumulate(&grp.accs[call], args); err != nil {
					return err
				}
			}
		}
		if err := s.advance(call); err != nil {
			return err
		}
	}
	return nil
}

// put writes the current row to the part of its group, whose key is in g.buf.
func (s *groupSpills) put(g *Grouping, set int) error {
	row := make([]types.Datum, 0, 1+len(g.values)+len(g.in.Row))
	row = append(append(append(row, types.NewInt(int64(set))), g.values...), g.in.Row...)
	return s.parts.Append(g.buf, row)
}

// nextPart begins the next part, after the groups before it have been returned. It returns false at the end.
func (g *Grouping) nextPart() (bool, error) {
	s := &g.spills
	if s.parts != nil {
		runs, err := s.parts.Seal()
		if err != nil {
			return false, err
		}
		for _, r := range runs {
			if r.Rows() > 0 {
				s.waiting = append(s.waiting, groupPart{s.level + 1, r})
				s.disk += r.Size()
			}
		}
		s.parts = nil
	}
	if len(s.waiting) == 0 {
		return false, nil
	}
	s.endPart()
	g.env.Release(g.held)
	g.held, g.groups, g.index, g.at = 0, nil, map[string]*group{}, 0
	s.level, s.now, s.waiting = s.waiting[0].level, s.waiting[0].run, s.waiting[1:]
	s.read++
	s.from = s.now.Consume(1 + len(g.Keys) + g.Width)
	return true, nil
}

// nextOfPart adds the next row of the current part to its group.
func (g *Grouping) nextOfPart() (bool, error) {
	row, err := g.spills.from.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	set, keys := int(row[0].I), 1+len(g.Keys)
	g.values = append(g.values[:0], row[1:keys]...)
	copy(g.in.Row, row[keys:])
	around := g.env.Enter(&g.scratch)
	defer g.env.Leave(around)
	if g.Sets == nil {
		return true, g.into(0, nil)
	}
	return true, g.into(set, g.Sets[set])
}

func (s *groupSpills) endPart() {
	s.from.Close()
	s.now.Free()
	for _, c := range s.collected {
		c.Close()
	}
	s.from, s.now, s.collected, s.next, s.loose = nil, nil, nil, nil, 0
}

func (s *groupSpills) free() {
	s.endPart()
	s.parts.Free()
	for _, w := range s.waiting {
		w.run.Free()
	}
	*s = groupSpills{disk: s.disk, read: s.read}
}
