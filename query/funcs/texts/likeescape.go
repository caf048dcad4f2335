package texts

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// like_escape is the function behind LIKE ... ESCAPE: it makes the escape character of a pattern a backslash.
func init() {
	funcs.TextFamily.Function("like_escape", types.Text, textEscape, types.Text, types.Text)
	funcs.TextFamily.Function("like_escape", types.Bytea, bytesEscape, types.Bytea, types.Bytea)
}

func textEscape(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if _, err := escapeOf(a[1].S); err != nil {
		return types.Null, err
	}
	out, err := likeEscape(env, a[0].S, a[1].S)
	return types.NewText(out), err
}

func bytesEscape(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
	if len(a[1].S) > 1 {
		return types.Null, sqlstate.New(sqlstate.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	out, err := likeEscape(env, a[0].S, a[1].S)
	return types.Datum{K: types.KBytes, S: out}, err
}

// likeEscape returns a pattern with escape, which is one character or none, replaced by a backslash.
func likeEscape(env *exec.CallEnv, pattern, escape string) (string, error) {
	if escape == `\` {
		return pattern, nil
	}
	if err := funcs.FitsText(env, 2*len(pattern)); err != nil {
		return "", err
	}
	var b strings.Builder
	escaped := false
	for i := 0; i < len(pattern); {
		switch {
		case escape != "" && !escaped && strings.HasPrefix(pattern[i:], escape):
			b.WriteByte('\\')
			escaped = true
			i += len(escape)
			continue
		case pattern[i] == '\\' && !escaped:
			b.WriteString(`\\`)
		default:
			b.WriteByte(pattern[i])
		}
		escaped = false
		i++
	}
	return b.String(), nil
}
