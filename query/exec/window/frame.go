package window

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// FrameMode is the unit of the offsets of a frame.
type FrameMode uint8

// The modes of frames.
const (
	RangeFrame  FrameMode = iota // values of the single ORDER BY expression
	RowsFrame                    // rows
	GroupsFrame                  // groups of peers
)

// BoundKind is the kind of a frame bound. The kinds are ordered: a frame's end cannot have a lower kind than its start.
type BoundKind uint8

// The kinds of bounds.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// FrameBound is the start or the end of a frame.
type FrameBound struct {
	Kind   BoundKind
	Offset exec.Expr // of Preceding and Following; refers to no columns
	// InRange compares with the value at an offset in a RangeFrame.
	InRange InRange
}

// InRange reports whether value is at most (less) or at least base + offset, or base - offset (sub).
type InRange func(env *exec.Env, value, base, offset types.Datum, sub, less bool) (bool, error)

// Exclusion says which rows around the current one a frame excludes.
type Exclusion uint8

// The exclusions.
const (
	ExcludeNone Exclusion = iota
	ExcludeRow
	ExcludeGroup
	ExcludeTies
)

// Frame determines the rows of a partition that a window function uses for a row.
type Frame struct {
	Mode       FrameMode
	Start, End FrameBound
	Exclude    Exclusion
}

// defaultFrame is the frame of a window that does not specify one.
var defaultFrame = &Frame{Start: FrameBound{Kind: UnboundedPreceding}, End: FrameBound{Kind: CurrentRow}}

// ErrFrameSize is the error for a negative offset.
var ErrFrameSize = sqlstate.New(sqlstate.InvalidFrameSize, "invalid preceding or following size in window function")

// frameOffsets are the values of a frame's offsets.
type frameOffsets struct{ start, end types.Datum }

// offsets evaluates the offsets once for all rows.
func (f *Frame) offsets(env *exec.Env) (out frameOffsets, err error) {
	if f == nil {
		return out, nil
	}
	if out.start, err = f.offset(env, f.Start, "starting"); err == nil {
		out.end, err = f.offset(env, f.End, "ending")
	}
	return out, err
}

func (f *Frame) offset(env *exec.Env, b FrameBound, which string) (types.Datum, error) {
	if b.Offset == nil {
		return types.Null, nil
	}
	d, err := b.Offset.Eval(env)
	switch {
	case err != nil:
		return d, err
	case d.IsNull():
		return d, sqlstate.New(sqlstate.NullNotAllowed, "frame %s offset must not be null", which)
	case f.Mode != RangeFrame && d.I < 0:
		return d, sqlstate.New(sqlstate.InvalidFrameSize, "frame %s offset must not be negative", which)
	}
	return d, nil
}

// first returns the index of the first row of the frame of row i. It never decreases as i increases.
func (p *partitionRows) first(f *Frame, i int) (int, error) {
	switch b := f.Start; b.Kind {
	case UnboundedPreceding:
		return 0, nil
	case CurrentRow:
		if f.Mode == RowsFrame {
			return i, nil
		}
		from, _, err := p.peers(i)
		return from, err
	case Preceding, Following:
		sub := b.Kind == Preceding
		switch f.Mode {
		case RowsFrame:
			return clamp(i, p.offsets.start.I, sub, p.n), nil
		case GroupsFrame:
			g, err := p.peer(i)
			if err != nil {
				return 0, err
			}
			return p.start(clamp(g, p.offsets.start.I, sub, p.groups))
		}
		return p.search(p.head, i, b, p.offsets.start, sub, false)
	}
	return p.n, nil
}

// last returns the index after the last row of the frame of row i. It never decreases as i increases.
func (p *partitionRows) last(f *Frame, i int) (int, error) {
	switch b := f.End; b.Kind {
	case CurrentRow:
		if f.Mode == RowsFrame {
			return i + 1, nil
		}
		_, to, err := p.peers(i)
		return to, err
	case Preceding, Following:
		sub := b.Kind == Preceding
		switch f.Mode {
		case RowsFrame:
			return clamp(i+1, p.offsets.end.I, sub, p.n), nil
		case GroupsFrame:
			g, err := p.peer(i)
			if err != nil {
				return 0, err
			}
			return p.start(clamp(g+1, p.offsets.end.I, sub, p.groups))
		}
		return p.search(p.tail, i, b, p.offsets.end, sub, true)
	case UnboundedFollowing:
		return p.n, nil
	}
	return 0, nil
}

// clamp returns i - n (sub) or i + n, limited to 0..most.
func clamp(i int, n int64, sub bool, most int) int {
	n = min(n, int64(most)+1)
	if sub {
		n = -n
	}
	return min(max(i+int(n), 0), most)
}

// search finds a bound of a RANGE frame with an offset, starting from the bound of the previous row. The rules for
// NULLs are those of update_frameheadpos and update_frametailpos in PostgreSQL's nodeWindowAgg.c.
func (p *partitionRows) search(at, i int, b FrameBound, offset types.Datum, sub, tail bool) (int, error) {
	key := p.c.Keys[0]
	less := tail
	if key.Desc {
		sub, less = !sub, !less
	}
	base, err := p.key(i)
	if err != nil {
		return 0, err
	}
	for ; at < p.n; at++ {
		value, err := p.key(at)
		if err != nil {
			return 0, err
		}
		var stop bool
		if value.IsNull() || base.IsNull() {
			switch {
			case tail && key.NullsFirst:
				stop = !value.IsNull() && base.IsNull()
			case tail:
				stop = value.IsNull() && !base.IsNull()
			case key.NullsFirst:
				stop = !value.IsNull() || base.IsNull()
			default:
				stop = value.IsNull() || !base.IsNull()
			}
		} else {
			in, err := b.InRange(p.w.env, value, base, offset, sub, less)
			if err != nil {
				return 0, err
			}
			stop = in != tail
		}
		if stop {
			break
		}
		if err := p.w.env.Step(1); err != nil {
			return 0, err
		}
	}
	return at, nil
}
