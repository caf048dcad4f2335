package sql

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// Statements about the session, recognised by their tokens: the library has no part in them.

// settingName reads a name of one or two parts.
func (r *rewriter) settingName() (string, error) {
	name, err := r.label()
	if err != nil {
		return "", err
	}
	for r.acceptPunct(".") {
		part, err := r.label()
		if err != nil {
			return "", err
		}
		name += "." + part
	}
	return name, nil
}

func (r *rewriter) setting() (Statement, error) {
	verb := r.take()
	off := r.peek().Off
	switch verb.Text {
	case "show", "reset":
		var name string
		switch {
		case r.peek().word("time") && r.peekAt(1).word("zone"):
			r.i += 2
			name = "timezone"
		case r.peek().word("transaction") && r.peekAt(1).word("isolation"):
			r.i += 2
			if err := r.expectWord("level"); err != nil {
				return nil, err
			}
			name = "transaction_isolation"
		case r.peek().word("session") && r.peekAt(1).word("authorization"):
			r.i += 2
			name = "session_authorization"
		default:
			var err error
			if name, err = r.settingName(); err != nil {
				return nil, err
			}
		}
		if verb.Text == "show" {
			return &Show{strings.ToLower(name), off}, nil
		}
		return &Reset{strings.ToLower(name), off}, nil
	}
	s := &Set{Off: off}
	switch {
	case r.acceptWord("local"):
		s.Local = true
	case r.peek().word("session") && !r.peekAt(1).op("=") && !r.peekAt(1).word("to"):
		r.take()
	}
	switch t := r.peek(); {
	case t.word("characteristics"), t.word("transaction"):
		r.skipStatement()
		return &Transaction{Verb: "set"}, nil
	case t.word("constraints"):
		r.skipStatement()
		return &Set{Name: "constraints", Off: off}, nil
	case t.word("time") && r.peekAt(1).word("zone"):
		r.i += 2
		s.Name = "timezone"
		if v := r.peek(); v.word("local") {
			r.take()
			s.Default = true
			return s, nil
		} else if v.word("interval") {
			r.take()
		}
	case t.word("names"):
		r.take()
		s.Name = "client_encoding"
	case t.word("authorization"):
		r.take()
		s.Name = "session_authorization"
	case t.word("role") && !r.peekAt(1).op("=") && !r.peekAt(1).word("to"):
		r.take()
		s.Name = "role"
	default:
		name, err := r.settingName()
		if err != nil {
			return nil, err
		}
		s.Name = strings.ToLower(name)
		if !r.acceptWord("to") {
			if !r.peek().op("=") {
				return nil, r.unexpected()
			}
			r.take()
		}
	}
	if r.acceptWord("default") {
		s.Default = true
		return s, nil
	}
	return s, r.list(func() error {
		v, err := r.settingValue()
		s.Values = append(s.Values, v)
		return err
	})
}

func (r *rewriter) settingValue() (string, error) {
	sign := ""
	if t := r.peek(); t.op("-") || t.op("+") {
		r.take()
		if t.op("-") {
			sign = "-"
		}
	}
	switch t := r.take(); t.Kind {
	case tInteger, tNumber:
		return sign + t.Text, nil
	case tString, tIdent, tQuoted:
		if sign == "" {
			return t.Text, nil
		}
		return "", r.unexpectedAt(t)
	default:
		return "", r.unexpectedAt(t)
	}
}

func (r *rewriter) skipStatement() {
	for r.peek().Kind != tEOF && !r.peek().is(";") {
		r.take()
	}
}

func (r *rewriter) transaction() (Statement, error) {
	t := r.take()
	st := &Transaction{Verb: t.Text}
	switch t.Text {
	case "begin", "start":
		if t.Text == "start" {
			if err := r.expectWord("transaction"); err != nil {
				return nil, err
			}
		} else if !r.acceptWord("work") {
			r.acceptWord("transaction")
		}
		return st, r.transactionModes()
	case "savepoint":
		name, err := r.label()
		st.Name = name
		return st, err
	case "release":
		r.acceptWord("savepoint")
		name, err := r.label()
		st.Name = name
		return st, err
	case "end":
		st.Verb = "commit"
	case "abort":
		st.Verb = "rollback"
	}
	if r.peek().word("prepared") {
		return nil, sqlstate.Unsupported(t.Off, "Use COMMIT or ROLLBACK.", "two-phase commit is not supported")
	}
	if !r.acceptWord("work") {
		r.acceptWord("transaction")
	}
	if st.Verb == "rollback" && r.acceptWord("to") {
		r.acceptWord("savepoint")
		st.Verb = "rollback to"
		name, err := r.label()
		st.Name = name
		return st, err
	}
	if r.acceptWord("and") {
		st.Chain = !r.acceptWord("no")
		return st, r.expectWord("chain")
	}
	return st, nil
}

// transactionModes reads over isolation levels and access modes: all reads are the same here.
func (r *rewriter) transactionModes() error {
	for r.peek().Kind != tEOF {
		switch {
		case r.acceptPunct(","):
		case r.acceptWord("isolation"):
			if err := r.expectWord("level"); err != nil {
				return err
			}
			if !r.acceptWord("serializable") && !(r.acceptWord("repeatable") && r.acceptWord("read")) &&
				!(r.acceptWord("read") && (r.acceptWord("committed") || r.acceptWord("uncommitted"))) {
				return r.unexpected()
			}
		case r.acceptWord("read"):
			if !r.acceptWord("only") && !r.acceptWord("write") {
				return r.unexpected()
			}
		case r.acceptWord("not"):
			if err := r.expectWord("deferrable"); err != nil {
				return err
			}
		case r.acceptWord("deferrable"):
		default:
			return r.unexpected()
		}
	}
	return nil
}

func (r *rewriter) cursor() (Statement, error) {
	t := r.take()
	switch t.Text {
	case "declare":
		return r.declare(t)
	case "close":
		if r.acceptWord("all") {
			return &CloseCursor{Off: t.Off}, nil
		}
		off := r.peek().Off
		name, err := r.label()
		return &CloseCursor{name, off}, err
	}
	return r.fetch(t)
}

func (r *rewriter) declare(t token) (Statement, error) {
	d := &Declare{Off: r.peek().Off}
	var err error
	if d.Name, err = r.label(); err != nil {
		return nil, err
	}
	for !r.acceptWord("cursor") {
		switch {
		case r.acceptWord("binary"):
			d.IsBinary = true
		case r.acceptWord("insensitive"), r.acceptWord("asensitive"):
		case r.acceptWord("scroll"):
			d.Scroll = true
		case r.acceptWord("no"):
			if err := r.expectWord("scroll"); err != nil {
				return nil, err
			}
			d.NoScroll = true
		default:
			return nil, r.unexpected()
		}
	}
	if r.acceptWord("with") {
		if err := r.expectWord("hold"); err != nil {
			return nil, err
		}
		d.Hold = true
	} else if r.acceptWord("without") {
		if err := r.expectWord("hold"); err != nil {
			return nil, err
		}
	}
	if err := r.expectWord("for"); err != nil {
		return nil, err
	}
	d.Query, err = r.queryStatement()
	return d, err
}

// fetch reads FETCH|MOVE [direction] [FROM|IN] cursor.
func (r *rewriter) fetch(t token) (Statement, error) {
	f := &Fetch{Move: t.Text == "move", Direction: "forward", Count: 1, Off: t.Off}
	number := func() (int64, bool, error) {
		i := r.i
		neg := false
		if s := r.peek(); s.op("-") || s.op("+") {
			r.take()
			neg = s.op("-")
		}
		if n := r.peek(); n.Kind == tInteger {
			r.take()
			v, err := strconv.ParseInt(n.Text, 10, 64)
			if err != nil {
				return 0, false, sqlstate.New(sqlstate.NumericOutOfRange, "value %q is out of range", n.Text).At(n.Off)
			}
			if neg {
				v = -v
			}
			return v, true, nil
		}
		r.i = i
		return 0, false, nil
	}
	var err error
	found := false
	switch d := r.peek(); {
	case r.peekAt(1).Kind == tEOF || r.peekAt(1).is(";"):
		// only the cursor's name
	case d.word("next"):
		r.take()
	case d.words("prior", "first", "last", "absolute", "relative"):
		r.take()
		switch d.Text {
		case "prior":
			f.Direction = "backward"
		case "first":
			f.Direction = "absolute"
		case "last":
			f.Direction, f.Count = "absolute", -1
		default:
			f.Direction = d.Text
			if f.Count, found, err = number(); err == nil && !found {
				err = r.unexpected()
			}
		}
	case d.word("all"):
		r.take()
		f.All = true
	case d.words("forward", "backward"):
		r.take()
		f.Direction = d.Text
		if r.acceptWord("all") {
			f.All = true
		} else if f.Count, found, err = number(); !found {
			f.Count = 1
		}
	default:
		if f.Count, found, err = number(); !found {
			f.Count = 1
		}
	}
	if err != nil {
		return nil, err
	}
	if f.Count < 0 && f.Direction == "forward" {
		f.Direction, f.Count = "backward", -f.Count
	}
	if !r.acceptWord("from") {
		r.acceptWord("in")
	}
	f.Off = r.peek().Off
	f.Cursor, err = r.label()
	return f, err
}

func (r *rewriter) prepared() (Statement, error) {
	t := r.take()
	off := r.peek().Off
	switch t.Text {
	case "discard":
		w := r.take()
		if !w.words("all", "plans", "sequences", "temp", "temporary") {
			return nil, r.unexpectedAt(w)
		}
		return &Discard{w.Text}, nil
	case "deallocate":
		r.acceptWord("prepare")
		if r.acceptWord("all") {
			return &Deallocate{Off: off}, nil
		}
		name, err := r.label()
		return &Deallocate{name, off}, err
	case "execute":
		name, err := r.label()
		if err != nil {
			return nil, err
		}
		e := &Execute{Name: name, Off: off}
		if r.peek().is("(") {
			list, err := r.bracketList()
			if err != nil {
				return nil, err
			}
			sel, err := r.parse("select " + strings.Join(list, ", "))
			if err != nil {
				return nil, err
			}
			for _, t := range sel.targets {
				e.args = append(e.args, t.expr)
			}
		}
		return e, nil
	}
	return r.prepare()
}

func (r *rewriter) prepare() (Statement, error) {
	if t := r.peek(); t.word("transaction") {
		return nil, sqlstate.Unsupported(t.Off, "Use COMMIT or ROLLBACK.", "two-phase commit is not supported")
	}
	name, err := r.label()
	if err != nil {
		return nil, err
	}
	p := &Prepare{Name: name}
	if r.acceptPunct("(") {
		if err := r.list(func() error {
			typ, err := r.typeName()
			p.types = append(p.types, typ)
			return err
		}); err != nil {
			return nil, err
		}
		if err := r.expectPunct(")"); err != nil {
			return nil, err
		}
	}
	if err := r.expectWord("as"); err != nil {
		return nil, err
	}
	start := r.peek()
	p.Offset = start.Off
	if p.Statement, err = r.queryStatement(); err != nil {
		return nil, err
	}
	p.Text = r.src[start.Off:r.toks[r.i-1].End]
	return p, nil
}
