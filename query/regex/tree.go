package regex

// flags describe the preference of a node and its contents.
type flags uint8

const (
	longer flags = 1 << iota
	shorter
	mixed    // it contains nodes of both preferences
	captures // it contains a group
	refers   // it contains a back reference
)

const upwards = mixed | captures | refers

func (f flags) up() flags {
	u := f & upwards
	if f&longer != 0 && f&shorter != 0 {
		u |= mixed
	}
	return u
}

func (f flags) preference() flags { return f & (longer | shorter) }

// messy reports whether the matches of its parts must be determined.
func (f flags) messy() bool { return f&upwards != 0 }

// combine returns the flags of a sequence of two nodes. The first preference counts.
func combine(a, b flags) flags {
	p := a.preference()
	if p == 0 {
		p = b.preference()
	}
	return (a | b).up() | p
}

// kind is the way in which a node divides its text.
type kind uint8

const (
	plain     kind = iota // not at all: the automaton suffices
	concat                // a match of the first kid and one of the second
	alternate             // a match of one kid; the first that matches
	iterate               // matches of the kid, min to max times
	reference             // the text of a group, min to max times
	wrapper               // the kid, which is another group
)

// node is a part of a pattern whose position in a match must be determined, following PostgreSQL's rules of preference.
type node struct {
	kind     kind
	flags    flags
	group    int // its own group, or the one it refers to
	capture  int
	kids     []*node
	expr     *expr // of plain and iterate
	min, max int
	at       place // its part of the program
}

// builder builds nodes from expressions.
type builder struct{ groups map[int]*expr }

func (b *builder) tree(e *expr) *node {
	switch e.op {
	case opAlternate:
		n := &node{kind: alternate, flags: longer, expr: e}
		for _, branch := range e.sub {
			kid := b.tree(branch)
			n.kids = append(n.kids, kid)
			n.flags |= combine(n.flags, kid.flags)
		}
		if !n.flags.messy() {
			n.kind, n.kids = plain, nil
		}
		return n
	case opConcat:
		return b.branch(e.sub)
	}
	return b.branch([]*expr{e})
}

// branch builds the nodes of a sequence of items: the leading plain items together, then the first other one, then the
// rest.
func (b *builder) branch(items []*expr) *node {
	front := &node{kind: plain, expr: &expr{op: opConcat}}
	for i, item := range items {
		if item.op == opAssert || item.op == opLook {
			front.expr.sub = append(front.expr.sub, item)
			continue
		}
		rep := item
		if rep.op != opRepeat {
			rep = &expr{op: opRepeat, sub: []*expr{item}, min: 1, max: 1}
		}
		if rep.max == 0 {
			continue
		}
		atom := b.atom(rep.sub[0])
		f := front.flags | rep.prefer | atom.flags
		if op := rep.sub[0].op; op != opGroup && op != opReference && !f.up().messy() {
			front.expr.sub, front.flags = append(front.expr.sub, item), f
			continue
		}
		first := len(front.expr.sub) == 0
		head := combine(rep.prefer, atom.flags) // flags of the item and the rest
		atom = b.repeated(rep, atom)
		top := &node{kind: concat, flags: front.flags, kids: []*node{front, atom}}
		if i == len(items)-1 {
			if first {
				return atom
			}
			top.flags |= combine(top.flags, atom.flags)
			return top
		}
		rest := b.branch(items[i+1:])
		tail := &node{kind: concat, flags: head, kids: []*node{atom, rest}}
		tail.flags |= combine(tail.flags, rest.flags)
		top.flags |= combine(top.flags, tail.flags)
		if first {
			tail.flags = top.flags
			return tail
		}
		if atom.kind == plain && rest.kind == plain && !(atom.flags | rest.flags).up().messy() {
			tail = &node{kind: plain, flags: combine(atom.flags, rest.flags),
				expr: &expr{op: opConcat, sub: []*expr{atom.expr, rest.expr}}}
		}
		top.kids[1] = tail
		return top
	}
	return front
}

// atom builds the node of an item without its quantifier.
func (b *builder) atom(e *expr) *node {
	switch e.op {
	case opGroup:
		n := b.tree(e.sub[0])
		if n.capture != 0 {
			n = &node{kind: wrapper, flags: n.flags, kids: []*node{n}}
		}
		n.flags |= captures
		n.capture = e.group
		return n
	case opReference:
		return &node{kind: reference, flags: refers, group: e.group, expr: e, min: 1, max: 1}
	case opAlternate, opConcat:
		return b.tree(e)
	}
	return &node{kind: plain, expr: e}
}

// repeated wraps the quantifier of an item around its node.
func (b *builder) repeated(rep *expr, atom *node) *node {
	have := atom.flags & (longer | shorter | mixed)
	f := combine(rep.prefer, atom.flags)
	switch {
	case atom.kind == reference && atom.capture == 0:
		atom.min, atom.max = rep.min, rep.max
		atom.flags |= f
		return atom
	case rep.min == 1 && rep.max == 1 && (rep.prefer == 0 || have == 0 || rep.prefer == have):
		return atom
	case atom.flags&(captures|refers) == 0:
		return &node{kind: plain, flags: f, expr: rep}
	case rep.min > 0 && atom.flags&refers == 0:
		// Only the last repetition counts: x{m,n} is x{m-1,n-1}x, whose first part need not be divided.
		before := &expr{op: opRepeat, sub: rep.sub, min: rep.min - 1, max: rep.max, prefer: rep.prefer}
		if rep.max > 0 {
			before.max--
		}
		return &node{kind: concat, flags: f, kids: []*node{{kind: plain, flags: f.preference(), expr: before}, atom}}
	}
	return &node{kind: iterate, flags: f, kids: []*node{atom}, expr: rep, min: rep.min, max: rep.max}
}
