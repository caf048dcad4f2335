package regex

import "slices"

// place is a part of the program: it begins at entry and has matched when it reaches exit.
type place struct {
	prog        *program
	entry, exit int32
}

// program holds instructions for automata. Each node has its own part.
type program struct {
	inst    []inst
	context int  // the context that it depends on
	looks   bool // it depends on the text around
	behind  bool // it runs backwards
}

type instOp uint8

const (
	instSet    instOp = iota // read a character of set x, then go to the next instruction
	instSplit                // go to the next instruction and to x
	instJump                 // go to x
	instAssert               // go to the next instruction if assertion x holds
	instLook                 // go to the next instruction if lookaround x holds
	instFail                 // fail
)

type inst struct {
	op instOp
	x  int32
}

// look is an expression that must match, or must not match, before or after a position.
type look struct {
	behind, negative bool
	expr             *expr
	prog             *program
}

// maxInstructions limits the instructions that a pattern may compile to.
const maxInstructions = 100_000

// compiler compiles programs.
type compiler struct {
	groups map[int]*expr
	prog   *program
	looks  []*look
	refers map[place]*node
	left   int // remaining instructions
	copies int // nesting of copies; assertions are left out of the copies
}

func (c *compiler) program(body func() error, behind bool) (*program, error) {
	c.prog = &program{behind: behind}
	err := body()
	c.prog.inst = append(c.prog.inst, inst{op: instFail})
	return c.prog, err
}

func (c *compiler) add(op instOp, x int32) (int, error) {
	if c.left--; c.left < 0 {
		return 0, ErrTooBig
	}
	c.prog.inst = append(c.prog.inst, inst{op, x})
	return len(c.prog.inst) - 1, nil
}

func (c *compiler) here() int32 { return int32(len(c.prog.inst)) }

// node compiles a node and records its place.
func (c *compiler) node(n *node) error {
	n.at = place{prog: c.prog, entry: c.here()}
	err := c.parts(n)
	n.at.exit = c.here()
	if n.kind == reference {
		c.refers[n.at] = n
	}
	return err
}

func (c *compiler) parts(n *node) error {
	switch n.kind {
	case plain:
		return c.expr(n.expr)
	case reference:
		return c.repeat(n.expr, n.min, n.max)
	case alternate:
		return c.branches(len(n.kids), func(i int) error { return c.node(n.kids[i]) })
	case iterate:
		return c.times(n.min, n.max, func(first bool) error {
			if first {
				return c.node(n.kids[0])
			}
			return c.expr(n.expr.sub[0])
		})
	}
	for _, kid := range n.kids {
		if err := c.node(kid); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) expr(e *expr) error {
	var err error
	switch e.op {
	case opSet:
		_, err = c.add(instSet, int32(e.set.number))
	case opConcat:
		items := e.sub
		if c.prog.behind {
			items = slices.Clone(items)
			slices.Reverse(items)
		}
		for _, item := range items {
			if err := c.expr(item); err != nil {
				return err
			}
		}
	case opAlternate:
		return c.branches(len(e.sub), func(i int) error { return c.expr(e.sub[i]) })
	case opGroup:
		return c.expr(e.sub[0])
	case opReference:
		c.copies++
		err = c.expr(c.groups[e.group])
		c.copies--
	case opRepeat:
		return c.repeat(e.sub[0], e.min, e.max)
	case opAssert:
		if c.copies == 0 {
			c.prog.context |= e.assert.needs()
			_, err = c.add(instAssert, int32(e.assert))
		}
	case opLook:
		if c.copies == 0 {
			c.prog.looks = true
			c.looks = append(c.looks, &look{behind: e.behind, negative: e.negative, expr: e})
			_, err = c.add(instLook, int32(len(c.looks)-1))
		}
	}
	return err
}

func (c *compiler) repeat(e *expr, least, most int) error {
	return c.times(least, most, func(bool) error { return c.expr(e) })
}

// times compiles a body least to most times. first is set for the first copy.
func (c *compiler) times(least, most int, body func(first bool) error) error {
	for i := range least {
		if err := body(i == 0); err != nil {
			return err
		}
	}
	if most < 0 {
		split, err := c.add(instSplit, 0)
		if err == nil {
			err = body(least == 0)
		}
		if err == nil {
			_, err = c.add(instJump, int32(split))
		}
		if err == nil {
			c.prog.inst[split].x = c.here()
		}
		return err
	}
	var splits []int
	for i := least; i < most; i++ {
		split, err := c.add(instSplit, 0)
		if err == nil {
			err = body(i == 0)
		}
		if err != nil {
			return err
		}
		splits = append(splits, split)
	}
	for _, s := range splits {
		c.prog.inst[s].x = c.here()
	}
	return nil
}

// branches compiles n alternatives.
func (c *compiler) branches(n int, body func(i int) error) error {
	var jumps []int
	for i := range n {
		last := i == n-1
		split := 0
		var err error
		if !last {
			if split, err = c.add(instSplit, 0); err != nil {
				return err
			}
		}
		if err := body(i); err != nil || last {
			if err != nil {
				return err
			}
			break
		}
		jump, err := c.add(instJump, 0)
		if err != nil {
			return err
		}
		jumps = append(jumps, jump)
		c.prog.inst[split].x = c.here()
	}
	for _, j := range jumps {
		c.prog.inst[j].x = c.here()
	}
	return nil
}

// alphabet divides the characters into classes such that each set of the pattern consists of whole classes.
type alphabet struct {
	from    []rune // where ranges of one class begin
	class   []uint16
	ascii   [128]uint16
	members [][]bool // for each set, whether it contains a class
	classes int
}

func newAlphabet(sets []*charset) *alphabet {
	edges := []rune{0}
	for _, s := range sets {
		for i := range s.lo {
			edges = append(edges, s.lo[i], s.hi[i]+1)
		}
	}
	slices.Sort(edges)
	a := &alphabet{from: slices.Compact(edges), members: make([][]bool, len(sets))}
	// A class is the set of charsets that contain it. Divide the alphabet by one charset after the other.
	a.class, a.classes = make([]uint16, len(a.from)), 1
	for n, s := range sets {
		inside, split := make([]bool, len(a.from)), map[uint16]uint16{}
		outside := make([]bool, a.classes)
		at := 0
		for i, r := range a.from {
			for at < len(s.hi) && s.hi[at] < r {
				at++
			}
			inside[i] = at < len(s.lo) && r >= s.lo[at]
			outside[a.class[i]] = outside[a.class[i]] || !inside[i]
		}
		a.members[n] = make([]bool, a.classes, a.classes*2)
		for i := range a.from {
			if !inside[i] {
				continue
			}
			c := a.class[i]
			if outside[c] {
				if _, ok := split[c]; !ok {
					split[c] = uint16(a.classes)
					for old := range n {
						a.members[old] = append(a.members[old], a.members[old][c])
					}
					a.members[n] = append(a.members[n], true)
					a.classes++
				}
				a.class[i] = split[c]
			} else {
				a.members[n][c] = true
			}
		}
	}
	for r := range a.ascii {
		a.ascii[r] = a.find(rune(r))
	}
	return a
}

func (a *alphabet) find(r rune) uint16 {
	i, found := slices.BinarySearch(a.from, r)
	if !found {
		i--
	}
	return a.class[i]
}

// of returns the class of a character.
func (a *alphabet) of(r rune) uint16 {
	if r < 128 {
		return a.ascii[r]
	}
	return a.find(r)
}
