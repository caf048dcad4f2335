package jsonpath

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
)

// Text returns the path as PostgreSQL prints it.
func (p *Path) Text() string {
	var b strings.Builder
	if p.Strict {
		b.WriteString("strict ")
	}
	p.Expr.write(&b, false, true)
	return b.String()
}

// priority returns how tightly an operator binds.
func (n *Node) priority() int {
	switch n.Kind {
	case Or:
		return 0
	case And:
		return 1
	case Compare, StartsWith:
		return 2
	case Arithmetic:
		if n.Text == "+" || n.Text == "-" {
			return 3
		}
		return 4
	case Unary:
		return 5
	}
	return 6
}

func (n *Node) write(b *strings.Builder, inKey, brackets bool) {
	if n.Next != nil && n.priority() < 6 || n.Next != nil && n.bool() {
		brackets = true
	}
	open := func() {
		if brackets {
			b.WriteByte('(')
		}
	}
	shut := func() {
		if brackets {
			b.WriteByte(')')
		}
	}
	binary := func(op string) {
		open()
		n.Left.write(b, false, n.Left.priority() <= n.priority())
		b.WriteString(" " + op + " ")
		n.Right.write(b, false, n.Right.priority() <= n.priority())
		shut()
	}
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Bool:
		b.WriteString(n.Text)
	case Number:
		if n.Next != nil {
			b.WriteString("(" + plain(n.Text) + ")")
		} else {
			b.WriteString(plain(n.Text))
		}
	case String:
		writeQuoted(b, n.Text)
	case Variable:
		b.WriteByte('$')
		writeQuoted(b, n.Text)
	case Root:
		b.WriteByte('$')
	case Current:
		b.WriteByte('@')
	case Last:
		b.WriteString("last")
	case And:
		binary("&&")
	case Or:
		binary("||")
	case Compare, Arithmetic:
		binary(n.Text)
	case StartsWith:
		binary("starts with")
	case Not:
		b.WriteString("!(")
		n.Left.write(b, false, false)
		b.WriteByte(')')
	case IsUnknown:
		b.WriteByte('(')
		n.Left.write(b, false, false)
		b.WriteString(") is unknown")
	case Exists:
		b.WriteString("exists (")
		n.Left.write(b, false, false)
		b.WriteByte(')')
	case LikeRegex:
		open()
		n.Left.write(b, false, n.Left.priority() <= n.priority())
		b.WriteString(" like_regex ")
		writeQuoted(b, n.Text)
		if n.Flags != "" {
			b.WriteString(` flag "`)
			for _, f := range "ismxq" {
				if strings.ContainsRune(n.Flags, f) {
					b.WriteRune(f)
				}
			}
			b.WriteByte('"')
		}
		shut()
	case Unary:
		open()
		b.WriteString(n.Text)
		n.Left.write(b, false, n.Left.priority() <= n.priority())
		shut()
	case Key:
		b.WriteByte('.')
		writeQuoted(b, n.Text)
	case AnyKey:
		b.WriteString(".*")
	case AnyItem:
		b.WriteString("[*]")
	case Any:
		n.writeLevels(b)
	case Index:
		b.WriteByte('[')
		for i, s := range n.Subscripts {
			if i > 0 {
				b.WriteByte(',')
			}
			s.From.write(b, false, false)
			if s.To != nil {
				b.WriteString(" to ")
				s.To.write(b, false, false)
			}
		}
		b.WriteByte(']')
	case Filter:
		b.WriteString("?(")
		n.Left.write(b, false, false)
		b.WriteByte(')')
	case Method:
		b.WriteString("." + n.Text + "()")
	case Datetime:
		b.WriteString(".datetime(")
		if n.Flags != "" {
			writeQuoted(b, n.Text)
		}
		b.WriteByte(')')
	}
	if n.Next != nil {
		n.Next.write(b, true, true)
	}
}

// bool reports whether a node is a predicate, regardless of the accessors after it.
func (n *Node) bool() bool {
	x := *n
	x.Next = nil
	return x.predicate()
}

func (n *Node) writeLevels(b *strings.Builder) {
	level := func(l int) string {
		if l == Unbounded {
			return "last"
		}
		return strconv.Itoa(l)
	}
	b.WriteString(".**")
	switch {
	case n.From == 0 && n.To == Unbounded:
	case n.From == n.To:
		b.WriteString("{" + level(n.From) + "}")
	default:
		b.WriteString("{" + level(n.From) + " to " + level(n.To) + "}")
	}
}

// writeQuoted writes a string as in JSON.
func writeQuoted(b *strings.Builder, s string) { b.Write(jsontext.AppendQuoted(nil, s)) }

// plain returns a number without an exponent, as a numeric prints it.
func plain(text string) string {
	if digits, negative := strings.CutPrefix(text, "-"); negative {
		if digits = plain(digits); strings.Trim(digits, "0.") == "" {
			return digits // zero has no sign
		}
		return "-" + digits
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	const most = 1000
	if e > most || e < -most {
		return text
	}
	for ; e > 0; e-- {
		if fraction == "" {
			whole += "0"
			continue
		}
		whole, fraction = whole+fraction[:1], fraction[1:]
	}
	for ; e < 0; e++ {
		if whole == "" {
			whole = "0"
		}
		whole, fraction = whole[:len(whole)-1], whole[len(whole)-1:]+fraction
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
