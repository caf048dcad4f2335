package parse

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
)

// alterPassword reads ALTER USER name [WITH] [ENCRYPTED] PASSWORD 'secret'. It returns nil for any other ALTER, which
// is refused unread.
func (p *parser) alterPassword() *ast.AlterPassword {
	if !p.ahead("alter", "user") && !p.ahead("alter", "role") {
		return nil
	}
	name := p.peekAt(2)
	i := 3
	for p.peekAt(i).Words("with", "encrypted") {
		i++
	}
	secret, end := p.peekAt(i+1), p.peekAt(i+2)
	if name.Kind != lex.Ident || !p.peekAt(i).Word("password") || secret.Kind != lex.String || end.Kind != lex.EOF &&
		!end.Is(";") {
		return nil
	}
	s := &ast.AlterPassword{At: p.here(), User: name.Text, Secret: secret.Text}
	if name.Words("current_user", "current_role", "session_user") {
		s.User = ""
	}
	p.i += i + 2
	return s
}
