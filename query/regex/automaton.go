package regex

import (
	"slices"
	"unicode/utf8"
)

// automaton is a lazily built DFA for a part of the program. States are created when first reached, and dropped when
// there are too many.
type automaton struct {
	place
	anywhere bool  // a match may begin at any character
	refers   *node // the back reference that this is, or nil
	states   map[string]*state
	start    *state
}

// state is a set of instructions.
type state struct {
	seeds []int32 // in order
	// closed caches, by context, what can be reached from the seeds without reading a character.
	closed [1 << contextBits]*closure
}

type closure struct {
	sets    []int32  // reachable instructions that read a character
	matches bool     // the exit is reachable
	next    []*state // by the class of the next character, nil if not yet computed
}

// The context of a position.
const (
	atTextBegin = 1 << iota
	atTextEnd
	afterNewline
	beforeNewline
	afterWord
	beforeWord
	contextBits = iota
)

// machine matches a text. It is used by one call at a time.
type machine struct {
	re       *Regexp
	s        string
	step     func(n int) error
	pending  int   // work not yet reported to step
	err      error // returned by step
	automata map[place]*automaton
	searcher *automaton
	held     int // bytes taken by states
	seen     map[lookedAt]bool
	marks    []*marks // by the nesting of lookarounds
	depth    int
	key      []byte
	groups   []int
}

// marks records which instructions a traversal has visited.
type marks struct {
	met   []uint32 // by instruction, the last traversal that visited it
	round uint32
	stack []int32
}

func (m *machine) marksFor(n int) *marks {
	for len(m.marks) <= m.depth {
		m.marks = append(m.marks, &marks{})
	}
	k := m.marks[m.depth]
	if k.round++; len(k.met) < n || k.round == 0 {
		k.met, k.round = make([]uint32, n), 1
	}
	return k
}

type lookedAt struct {
	look int32
	at   int
}

// Limits of a machine: the memory of its states, the number of cached lookaround results, and the work between two
// calls of step.
const (
	maxHeld = 256 << 10

	stateSize, closureSize = 640, 64
	maxSeen                = 4096
	maxWork                = 8192
)

// work counts n steps and reports whether to continue.
func (m *machine) work(n int) bool {
	if m.pending += n; m.pending >= maxWork && m.err == nil {
		m.err = m.step(m.pending)
		m.pending = 0
	}
	return m.err == nil
}

func (m *machine) automaton(at place) *automaton {
	a := m.automata[at]
	if a == nil {
		a = &automaton{place: at, refers: m.re.refers[at]}
		m.automata[at] = a
	}
	return a
}

// first returns the initial state of a.
func (m *machine) first(a *automaton) *state {
	if a.start == nil {
		a.start = m.state(a, []int32{a.entry})
	}
	return a.start
}

// state returns the state for seeds, which are sorted. The state takes ownership of them.
func (m *machine) state(a *automaton, seeds []int32) *state {
	m.key = m.key[:0]
	for _, s := range seeds {
		m.key = append(m.key, byte(s), byte(s>>8), byte(s>>16), byte(s>>24))
	}
	if st := a.states[string(m.key)]; st != nil {
		return st
	}
	st := &state{seeds: slices.Clone(seeds)}
	m.hold(stateSize + 8*len(seeds)) // this may drop the states of a
	if a.states == nil {
		a.states = map[string]*state{}
	}
	a.states[string(m.key)] = st
	return st
}

// hold counts the memory of states, and drops all of them if it exceeds the limit.
func (m *machine) hold(n int) {
	if m.held += n; m.held <= maxHeld {
		return
	}
	m.held = n
	m.work(len(m.automata))
	for _, a := range m.automata {
		a.states, a.start = nil, nil
	}
	if m.searcher != nil {
		m.searcher.states, m.searcher.start = nil, nil
	}
}

// context returns the context of a position, as far as the program needs it.
func (m *machine) context(p *program, at int) int {
	c := 0
	if at == 0 {
		c |= atTextBegin
	}
	if at == len(m.s) {
		c |= atTextEnd
	}
	if p.context&(afterNewline|afterWord) != 0 && at > 0 {
		r, _ := utf8.DecodeLastRuneInString(m.s[:at])
		if r == '\n' {
			c |= afterNewline
		}
		if isWord(r) {
			c |= afterWord
		}
	}
	if p.context&(beforeNewline|beforeWord) != 0 && at < len(m.s) {
		r, _ := utf8.DecodeRuneInString(m.s[at:])
		if r == '\n' {
			c |= beforeNewline
		}
		if isWord(r) {
			c |= beforeWord
		}
	}
	return c & p.context
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	}
	return classes["word"].has(r)
}

// needs returns the context on which the assertion depends.
func (a assertion) needs() int {
	switch a {
	case textBegin:
		return atTextBegin
	case textEnd:
		return atTextEnd
	case lineBegin:
		return atTextBegin | afterNewline
	case lineEnd:
		return atTextEnd | beforeNewline
	}
	return afterWord | beforeWord
}

func (a assertion) holds(c int) bool {
	after, before := c&afterWord != 0, c&beforeWord != 0
	switch a {
	case textBegin:
		return c&atTextBegin != 0
	case textEnd:
		return c&atTextEnd != 0
	case lineBegin:
		return c&(atTextBegin|afterNewline) != 0
	case lineEnd:
		return c&(atTextEnd|beforeNewline) != 0
	case wordBegin:
		return !after && before
	case wordEnd:
		return after && !before
	case wordEdge:
		return after != before
	}
	return after == before
}

// close computes what can be reached from a state at a position without reading a character.
func (m *machine) close(a *automaton, st *state, at int) *closure {
	c := m.context(a.prog, at)
	if cl := st.closed[c]; cl != nil {
		return cl
	}
	k, cl := m.marksFor(len(a.prog.inst)), &closure{}
	stack := append(k.stack[:0], st.seeds...)
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if k.met[pc] == k.round {
			continue
		}
		k.met[pc] = k.round
		if pc == a.exit {
			cl.matches = true
			continue
		}
		switch in := a.prog.inst[pc]; in.op {
		case instSet:
			cl.sets = append(cl.sets, pc)
		case instSplit:
			stack = append(stack, in.x, pc+1)
		case instJump:
			stack = append(stack, in.x)
		case instAssert:
			if assertion(in.x).holds(c) {
				stack = append(stack, pc+1)
			}
		case instLook:
			if m.looks(in.x, at) {
				stack = append(stack, pc+1)
			}
		}
	}
	k.stack = stack
	m.work(len(st.seeds) + len(cl.sets))
	if !a.prog.looks {
		cl.next = make([]*state, m.re.alphabet.classes)
		st.closed[c] = cl
		m.hold(closureSize + 8*(len(cl.sets)+len(cl.next)))
	}
	return cl
}

// looks evaluates a lookaround at a position.
func (m *machine) looks(number int32, at int) bool {
	key := lookedAt{number, at}
	if found, ok := m.seen[key]; ok {
		return found
	}
	l := m.re.looks[number]
	a := m.automaton(place{l.prog, 0, int32(len(l.prog.inst) - 1)})
	m.depth++
	found := m.reaches(a, at) != l.negative
	m.depth--
	if m.seen == nil || len(m.seen) >= maxSeen {
		m.seen = map[lookedAt]bool{}
	}
	m.seen[key] = found
	return found
}

// next returns the state after a character of a class.
func (m *machine) next(a *automaton, cl *closure, class uint16) *state {
	if cl.next != nil && cl.next[class] != nil {
		return cl.next[class]
	}
	var seeds []int32
	for _, pc := range cl.sets {
		if m.re.alphabet.members[a.prog.inst[pc].x][class] {
			seeds = append(seeds, pc+1)
		}
	}
	if a.anywhere {
		seeds = append(seeds, a.entry)
	}
	slices.Sort(seeds)
	seeds = slices.Compact(seeds)
	m.work(len(cl.sets))
	st := m.state(a, seeds)
	if cl.next != nil {
		cl.next[class] = st
	}
	return st
}

// reaches reports whether a, which may run backwards, matches a text that begins at a position.
func (m *machine) reaches(a *automaton, at int) bool {
	st := m.first(a)
	for len(st.seeds) > 0 {
		cl := m.close(a, st, at)
		if cl.matches || !m.work(1) {
			return cl.matches
		}
		var r rune
		var n int
		if a.prog.behind {
			r, n = utf8.DecodeLastRuneInString(m.s[:at])
			n = -n
		} else {
			r, n = utf8.DecodeRuneInString(m.s[at:])
		}
		if n == 0 {
			return false
		}
		st = m.next(a, cl, m.re.alphabet.of(r))
		at += n
	}
	return false
}

// longest returns the end of the longest match of a that begins at from and ends at limit or before; negative if there
// is none.
func (m *machine) longest(a *automaton, from, limit int) int {
	if m.known(a) {
		return m.repeated(a.refers, from, from, limit, false)
	}
	end := -1
	st := m.first(a)
	for at := from; len(st.seeds) > 0; {
		cl := m.close(a, st, at)
		if cl.matches {
			end = at
		}
		if at >= limit || !m.work(1) {
			break
		}
		r, n := rune(m.s[at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(m.s[at:])
		}
		st = m.next(a, cl, m.re.alphabet.of(r))
		at += n
	}
	return end
}

// shortest returns the end of the shortest match of a that begins at from and ends between least and limit.
func (m *machine) shortest(a *automaton, from, least, limit int) int {
	if m.known(a) {
		return m.repeated(a.refers, from, least, limit, true)
	}
	st := m.first(a)
	for at := from; len(st.seeds) > 0; {
		cl := m.close(a, st, at)
		if cl.matches && at >= least {
			return at
		}
		if at >= limit || !m.work(1) {
			break
		}
		r, n := utf8.DecodeRuneInString(m.s[at:])
		st = m.next(a, cl, m.re.alphabet.of(r))
		at += n
	}
	return -1
}
