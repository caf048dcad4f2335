package jsons

import (
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// prettyJSON is jsonb_pretty of a valid text. It makes one pass without recursion, because a short text with deep
// nesting has a long result.
func prettyJSON(env *exec.CallEnv, s string) (types.Datum, error) {
	p := &jsonPrinter{env: env, out: &strings.Builder{}}
	for i := 0; i < len(s) && p.err == nil; {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '{', '[':
			p.write(s[i : i+1])
			p.level++
			i = jsontext.SkipSpace(s, i+1)
			if i < len(s) && s[i] != '}' && s[i] != ']' {
				p.line()
			}
		case '}', ']':
			p.level--
			p.line()
			p.write(s[i : i+1])
			i++
		case ',':
			p.write(",")
			p.line()
			i++
		case ':':
			p.write(": ")
			i++
		default:
			end, _ := jsontext.SkipValue(s, i, 0)
			p.write(s[i:end])
			i = end
		}
	}
	if p.err != nil {
		return types.Null, p.err
	}
	return types.NewText(p.out.String()), nil
}

// jsonPrinter holds the text written so far. It counts its memory and its time.
type jsonPrinter struct {
	env   *exec.CallEnv
	out   *strings.Builder
	level int
	err   error
}

func (p *jsonPrinter) write(s string) {
	if p.room(len(s)) {
		p.out.WriteString(s)
	}
}

// line begins a new line.
func (p *jsonPrinter) line() {
	if !p.room(1 + 4*p.level) {
		return
	}
	p.out.WriteByte('\n')
	for range p.level {
		p.out.WriteString("    ")
	}
}

// room reserves n more bytes. While the text grows, the old and the longer copy exist together.
func (p *jsonPrinter) room(n int) bool {
	if p.err != nil {
		return false
	}
	if p.err = p.env.Bytes(n); p.err != nil {
		return false
	}
	if p.out.Cap()-p.out.Len() >= n {
		return true
	}
	more := n + p.out.Len()/2
	if p.err = funcs.FitsText(p.env, p.out.Cap()+p.out.Len()+more); p.err != nil {
		return false
	}
	longer := &strings.Builder{}
	longer.Grow(p.out.Len() + more)
	longer.WriteString(p.out.String())
	p.out = longer
	return true
}
