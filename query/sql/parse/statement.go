package parse

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// refused lists the first words of statements whose rest is not parsed.
var refused = map[string]bool{
	"alter": true, "analyse": true, "analyze": true, "checkpoint": true, "cluster": true, "comment": true,
	"create": true, "do": true, "drop": true, "grant": true, "import": true, "load": true, "merge": true,
	"reassign": true, "refresh": true, "reindex": true, "revoke": true, "security": true, "truncate": true,
	"vacuum": true,
}

func (p *parser) statement() (ast.Statement, error) {
	t := p.peek()
	if t.Kind == lex.EOF || t.Is(";") {
		return &ast.Empty{}, nil
	}
	if t.Is("(") {
		return p.preparable()
	}
	if t.Kind != lex.Ident {
		return nil, p.unexpected()
	}
	if s := p.alterPassword(); s != nil {
		return s, nil
	}
	if refused[t.Text] {
		object := p.peekAt(1).Text
		for p.peek().Kind != lex.EOF && !p.peek().Is(";") {
			if p.take().Kind == lex.Bad {
				return nil, p.failed
			}
		}
		return &ast.Refused{At: ast.At(t.Off), Verb: t.Text, Object: object}, nil
	}
	switch t.Text {
	case "select", "with", "values", "table", "insert", "update", "delete":
		return p.preparable()
	case "call":
		return p.procedure()
	case "explain":
		return p.explain()
	case "copy":
		return p.copy()
	case "set":
		return p.set()
	case "reset", "show":
		return p.show()
	case "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release":
		return p.transaction()
	case "declare", "fetch", "move", "close":
		return p.cursor()
	case "prepare", "execute", "deallocate", "discard":
		return p.prepared()
	case "lock":
		return p.lock()
	case "listen", "unlisten", "notify":
		return p.notify()
	}
	return nil, p.unexpected()
}

// explain reads EXPLAIN [ANALYZE] [VERBOSE] | (options) statement.
func (p *parser) explain() (ast.Statement, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	e := &ast.Explain{At: ast.At(p.take().Off), Format: "text", Timing: true, Costs: true}
	var wrong error // in an option; PostgreSQL reports it after parsing the whole statement
	if p.peek().Is("(") && !p.queryIn() {
		if err := p.inBrackets(func() error {
			return p.list(func() error {
				bad, err := p.explainOption(e)
				if wrong == nil {
					wrong = bad
				}
				return err
			})
		}); err != nil {
			return nil, err
		}
	} else {
		e.Analyze = p.acceptWord("analyze") || p.acceptWord("analyse")
		e.Verbose = p.acceptWord("verbose")
	}
	t := p.peek()
	if !t.Is("(") && !t.Words("select", "with", "values", "table", "insert", "update", "delete", "merge", "declare",
		"execute", "create", "refresh") {
		return nil, p.unexpected()
	}
	var err error
	if e.Statement, err = p.statement(); err == nil {
		err = wrong
	}
	if !e.SummarySet {
		e.Summary = e.Analyze
	}
	if err == nil && e.NeedsAnalyze != "" && !e.Analyze {
		err = sqlstate.New(sqlstate.InvalidParameterValue, "EXPLAIN option %s requires ANALYZE", e.NeedsAnalyze)
	}
	return e, err
}

// explainOption reads an option with its value. bad is the error of an option that can be parsed but is invalid.
func (p *parser) explainOption(e *ast.Explain) (bad, err error) {
	t := p.take()
	if !t.Label() {
		return nil, p.unexpectedAt(t)
	}
	value := p.optionValue()
	on := value != "off" && value != "false" && value != "0"
	boolean := !on || value == "" || value == "on" || value == "true" || value == "1"
	if !boolean && slices.Contains(explainSwitches, t.Text) {
		return lex.SyntaxError(0, "%s requires a Boolean value", t.Text), nil
	}
	switch t.Text {
	case "analyze", "analyse":
		e.Analyze = on
	case "verbose":
		e.Verbose = on
	case "timing":
		e.Timing = on
		e.NeedsAnalyze = needs(e, "TIMING", on)
	case "wal":
		e.NeedsAnalyze = needs(e, "WAL", on)
	case "costs":
		e.Costs = on
	case "settings":
		e.Settings = on
	case "summary":
		e.Summary, e.SummarySet = on, true
	case "buffers":
	case "format":
		switch value {
		case "text", "json", "xml", "yaml":
			e.Format = value
		default:
			return sqlstate.New(sqlstate.InvalidParameterValue, `unrecognized value for EXPLAIN option "format": "%s"`,
				value).At(t.Off), nil
		}
	default:
		return lex.SyntaxError(t.Off, `unrecognized EXPLAIN option "%s"`, t.Text), nil
	}
	return nil, nil
}

// explainSwitches are the options of EXPLAIN that are on or off.
var explainSwitches = []string{"analyze", "analyse", "verbose", "timing", "costs", "settings", "buffers", "wal",
	"summary"}

// needs remembers the first option that requires ANALYZE.
func needs(e *ast.Explain, option string, on bool) string {
	if on && e.NeedsAnalyze == "" {
		return option
	}
	return e.NeedsAnalyze
}

// optionValue reads the value of an option, or returns "".
func (p *parser) optionValue() string {
	if v := p.peek(); v.Label() || v.Kind == lex.String || v.Kind == lex.Integer || v.Kind == lex.Number {
		p.take()
		return strings.ToLower(v.Text)
	}
	return ""
}

// prepared reads PREPARE, EXECUTE, DEALLOCATE and DISCARD.
func (p *parser) prepared() (ast.Statement, error) {
	t := p.take()
	at := p.here()
	switch t.Text {
	case "discard":
		w := p.take()
		if !w.Words("all", "plans", "sequences", "temp", "temporary") {
			return nil, p.unexpectedAt(w)
		}
		what := w.Text
		if what == "temporary" {
			what = "temp"
		}
		return &ast.Discard{At: at, What: what}, nil
	case "deallocate":
		if p.peekAt(1).Label() {
			p.acceptWord("prepare")
			at = p.here()
		}
		if p.acceptWord("all") {
			return &ast.Deallocate{At: at}, nil
		}
		name, err := p.name()
		return &ast.Deallocate{At: at, Name: name}, err
	case "execute":
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		e := &ast.Execute{At: at, Name: name}
		if p.peek().Is("(") {
			e.Args, err = p.bracketList()
		}
		return e, err
	}
	if p.ahead("transaction") {
		return p.twoPhase(t, "prepare")
	}
	return p.prepare(t)
}

// prepare reads name [(types)] AS statement.
func (p *parser) prepare(t lex.Token) (ast.Statement, error) {
	s := &ast.Prepare{At: ast.At(t.Off)}
	var err error
	if s.Name, err = p.name(); err != nil {
		return nil, err
	}
	if p.peek().Is("(") {
		if err := p.inBrackets(func() error {
			return p.list(func() error {
				typ, err := p.typeName()
				s.Types = append(s.Types, typ)
				return err
			})
		}); err != nil {
			return nil, err
		}
	}
	if err := p.expectWords("as"); err != nil {
		return nil, err
	}
	start := p.peek()
	s.Offset = start.Off
	if s.Statement, err = p.preparable(); err != nil {
		return nil, err
	}
	s.Text = p.src[start.Off:p.toks[p.i-1].End]
	return s, nil
}

// lockModes lists the modes of LOCK TABLE, longest first.
var lockModes = []string{"access share", "row share", "row exclusive", "share update exclusive", "share row exclusive",
	"share", "exclusive", "access exclusive"}

// lock reads LOCK [TABLE] [ONLY] names [IN mode MODE] [NOWAIT].
func (p *parser) lock() (ast.Statement, error) {
	l := &ast.LockTable{At: ast.At(p.take().Off), Mode: "access exclusive"}
	p.acceptWord("table")
	if err := p.list(func() error {
		p.acceptWord("only")
		at := p.here()
		name, err := p.qualified()
		if p.peek().Op("*") {
			p.take()
		}
		l.Tables, l.Places = append(l.Tables, name), append(l.Places, at)
		return err
	}); err != nil {
		return nil, err
	}
	if p.acceptWord("in") {
		l.Mode = ""
		for _, m := range lockModes {
			if p.acceptWords(append(strings.Fields(m), "mode")...) {
				l.Mode = m
				break
			}
		}
		if l.Mode == "" {
			return nil, p.unexpected()
		}
	}
	p.acceptWord("nowait")
	return l, nil
}

// notify reads LISTEN name, UNLISTEN name|* and NOTIFY name [, payload].
func (p *parser) notify() (ast.Statement, error) {
	t := p.take()
	n := &ast.Notify{At: ast.At(t.Off), Verb: t.Text}
	if t.Word("unlisten") && p.peek().Op("*") {
		p.take()
		n.Channel = "*"
		return n, nil
	}
	var err error
	if n.Channel, err = p.name(); err != nil {
		return nil, err
	}
	if t.Word("notify") && p.acceptPunct(",") {
		v := p.take()
		if v.Kind != lex.String {
			return nil, p.unexpectedAt(v)
		}
		n.Payload = v.Text
	}
	return n, nil
}

// procedure reads CALL procedure(arguments).
func (p *parser) procedure() (ast.Statement, error) {
	at := ast.At(p.take().Off)
	t := p.peek()
	e, err := p.expr()
	if err != nil {
		return nil, err
	}
	call, ok := e.(*ast.Call)
	if !ok || call.Over != nil || call.Filter != nil {
		return nil, p.near(t, "syntax error")
	}
	call.Procedure = true
	return &ast.Query{Select: &ast.Select{At: at, Targets: []ast.Target{{Expr: call}}}}, nil
}
