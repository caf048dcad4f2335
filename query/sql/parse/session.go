package parse

import (
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sql/lex"
)

// settingName reads a name of one or more parts.
func (p *parser) settingName() (string, error) {
	name, err := p.name()
	if err != nil {
		return "", err
	}
	for p.acceptPunct(".") {
		part, err := p.name()
		if err != nil {
			return "", err
		}
		name += "." + part
	}
	return strings.ToLower(name), nil
}

// show reads SHOW and RESET.
func (p *parser) show() (ast.Statement, error) {
	verb := p.take()
	at := p.here()
	var name string
	switch {
	case p.acceptWords("time", "zone"):
		name = "timezone"
	case p.acceptWords("transaction", "isolation", "level"):
		name = "transaction_isolation"
	case p.acceptWords("session", "authorization"):
		name = "session_authorization"
	case p.acceptWord("all"):
		name = "all"
	default:
		var err error
		if name, err = p.settingName(); err != nil {
			return nil, err
		}
	}
	if verb.Word("show") {
		return &ast.Show{At: at, Name: name}, nil
	}
	return &ast.Reset{At: at, Name: name}, nil
}

// set reads all forms of SET.
func (p *parser) set() (ast.Statement, error) {
	verb := p.take()
	s := &ast.Set{At: p.here()}
	named := func() bool { n := p.peekAt(1); return n.Op("=") || n.Word("to") || n.Is(".") }
	session := false
	if !named() {
		s.Local = p.acceptWord("local")
		if session = !s.Local && p.peek().Word("session") && !p.peekAt(1).Word("authorization"); session {
			p.take()
		}
	}
	switch t := p.peek(); {
	case session && p.acceptWords("characteristics", "as", "transaction"):
		tx := &ast.Transaction{At: ast.At(verb.Off), Verb: "set session"}
		return tx, p.transactionModes(tx, true)
	case t.Word("transaction") && !named():
		p.take()
		return p.setTransaction(verb)
	case t.Word("constraints") && !named():
		p.take()
		s.Name = "constraints"
		return s, p.constraints()
	case p.acceptWords("time", "zone"):
		s.Name = "timezone"
		return s, p.zone(s)
	case t.Word("names") && !named():
		p.take()
		s.Name = "client_encoding"
		if p.peek().Kind == lex.EOF || p.acceptWord("default") {
			s.Default = true
			return s, nil
		}
		v := p.take()
		if v.Kind != lex.String {
			return nil, p.unexpectedAt(v)
		}
		s.Values = []string{v.Text}
		return s, nil
	case p.acceptWords("session", "authorization"):
		s.Name = "session_authorization"
	case t.Words("role", "schema", "catalog") && !named():
		p.take()
		s.Name = map[string]string{"role": "role", "schema": "search_path", "catalog": "catalog"}[t.Text]
	default:
		var err error
		if s.Name, err = p.settingName(); err != nil {
			return nil, err
		}
		if !p.acceptWord("to") {
			if err := p.expectOp("="); err != nil {
				return nil, err
			}
		}
	}
	if p.acceptWord("default") {
		s.Default = true
		return s, nil
	}
	return s, p.list(func() error {
		v, err := p.settingValue()
		s.Values = append(s.Values, v)
		return err
	})
}

// zone reads the value of SET TIME ZONE.
func (p *parser) zone(s *ast.Set) error {
	switch t := p.peek(); {
	case p.acceptWord("local"), p.acceptWord("default"):
		s.Default = true
		return nil
	case t.Word("interval"):
		e, err := p.typedConstant()
		if err != nil {
			return err
		}
		c, ok := e.(*ast.Cast)
		if !ok {
			return p.unexpected()
		}
		text, ok := c.X.(*ast.Literal)
		if !ok {
			return p.unexpected()
		}
		s.Values = []string{"INTERVAL '" + text.Text + "'"}
		return nil
	}
	v, err := p.settingValue()
	s.Values = []string{v}
	return err
}

// settingValue reads a number, a string or a word.
func (p *parser) settingValue() (string, error) {
	signed := p.peek().Op("-") || p.peek().Op("+")
	sign := p.sign()
	t := p.take()
	switch {
	case t.Kind == lex.Integer, t.Kind == lex.Number:
		return sign + t.Text, nil
	case signed:
	case t.Kind == lex.String, t.IsName(keyword.Unreserved, keyword.ColumnName, keyword.TypeFunctionName),
		t.Words("true", "false", "on"):
		return t.Text, nil
	}
	return "", p.unexpectedAt(t)
}

// constraints reads ALL | names DEFERRED | IMMEDIATE.
func (p *parser) constraints() error {
	if !p.acceptWord("all") {
		if err := p.list(func() error {
			_, err := p.qualified()
			return err
		}); err != nil {
			return err
		}
	}
	if !p.acceptWord("deferred") && !p.acceptWord("immediate") {
		return p.unexpected()
	}
	return nil
}

// setTransaction reads SNAPSHOT 'id' or modes after SET TRANSACTION.
func (p *parser) setTransaction(verb lex.Token) (ast.Statement, error) {
	tx := &ast.Transaction{At: ast.At(verb.Off), Verb: "set"}
	if p.acceptWord("snapshot") {
		t := p.take()
		if t.Kind != lex.String {
			return nil, p.unexpectedAt(t)
		}
		tx.Snapshot = t.Text
		return tx, nil
	}
	return tx, p.transactionModes(tx, true)
}

// transaction reads BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE and their synonyms.
func (p *parser) transaction() (ast.Statement, error) {
	t := p.take()
	st := &ast.Transaction{At: ast.At(t.Off), Verb: t.Text}
	var err error
	switch t.Text {
	case "begin", "start":
		if t.Text == "start" {
			if err := p.expectWords("transaction"); err != nil {
				return nil, err
			}
		} else if !p.acceptWord("work") {
			p.acceptWord("transaction")
		}
		return st, p.transactionModes(st, false)
	case "savepoint":
		st.Name, err = p.name()
		return st, err
	case "release":
		p.acceptWord("savepoint")
		st.Name, err = p.name()
		return st, err
	case "end":
		st.Verb = "commit"
	case "abort":
		st.Verb = "rollback"
	}
	if p.peek().Word("prepared") && t.Words("commit", "rollback") {
		return p.twoPhase(t, t.Text+" prepared")
	}
	if !p.acceptWord("work") {
		p.acceptWord("transaction")
	}
	if t.Word("rollback") && p.acceptWord("to") {
		p.acceptWord("savepoint")
		st.Verb = "rollback to"
		st.Name, err = p.name()
		return st, err
	}
	if p.acceptWord("and") {
		st.Chain = !p.acceptWord("no")
		return st, p.expectWords("chain")
	}
	return st, nil
}

// twoPhase reads TRANSACTION 'id' or PREPARED 'id'.
func (p *parser) twoPhase(t lex.Token, verb string) (ast.Statement, error) {
	p.take()
	id := p.take()
	if id.Kind != lex.String {
		return nil, p.unexpectedAt(id)
	}
	return &ast.Transaction{At: ast.At(t.Off), Verb: verb, Name: id.Text}, nil
}

// transactionModes reads isolation levels and access modes; the commas between them are optional.
func (p *parser) transactionModes(st *ast.Transaction, required bool) error {
	for n := 0; ; n++ {
		if n > 0 && p.peek().Is(",") {
			p.take()
			required = true
		}
		m := &st.Modes
		switch {
		case p.acceptWord("isolation"):
			if err := p.expectWords("level"); err != nil {
				return err
			}
			level := ""
			for _, l := range [][]string{{"serializable"}, {"repeatable", "read"}, {"read", "committed"},
				{"read", "uncommitted"}} {
				if p.acceptWords(l...) {
					level = strings.Join(l, " ")
					break
				}
			}
			if level == "" {
				p.acceptWord("read")
				return p.unexpected()
			}
			m.Isolation = level
		case p.acceptWord("read"):
			m.Access = "read " + p.peek().Text
			if !p.acceptWord("only") && !p.acceptWord("write") {
				return p.unexpected()
			}
		case p.acceptWord("not"):
			m.Deferrable = "not deferrable"
			if err := p.expectWords("deferrable"); err != nil {
				return err
			}
		case p.acceptWord("deferrable"):
			m.Deferrable = "deferrable"
		default:
			if required {
				return p.unexpected()
			}
			return nil
		}
		required = false
	}
}
