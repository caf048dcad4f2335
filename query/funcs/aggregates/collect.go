package aggregates

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// collector collects its input within the statement's memory: array_agg, string_agg, jsonb_agg, jsonb_object_agg.
type collector struct {
	kind  string
	types []types.OID
	ret   types.OID // json or jsonb, or the type of string_agg
	items []types.Datum
	// The text is full followed by buf. A long text is kept in pieces, because growing a slice needs more than twice
	// its memory.
	full  [][]byte
	total int // bytes of full
	buf   []byte
	held  int // bytes of both that have been reserved
	any   bool
}

// piece is the length of the pieces of a text.
const piece = 256 << 10

func (c *collector) Add(env *exec.Env, args []types.Datum) error {
	switch c.kind {
	case "array":
		if err := env.Hold(args[0].Size()); err != nil {
			return err
		}
		c.items = append(c.items, args[0].Own())
		return nil
	case "string":
		if args[0].IsNull() {
			return nil
		}
		n := len(args[0].S)
		if c.any && len(args) > 1 {
			n += len(args[1].S)
		}
		if err := c.grow(env, n); err != nil {
			return err
		}
		if c.any && len(args) > 1 {
			c.buf = append(c.buf, args[1].S...)
		}
		c.any = true
		c.buf = append(c.buf, args[0].S...)
		c.cut()
		return nil
	}
	value := args[len(args)-1]
	n := types.JSONSize(value)
	var name []byte
	if c.kind == "object" {
		if args[0].IsNull() {
			return sqlstate.New(sqlstate.InvalidParameterValue, "field name must not be null")
		}
		var err error
		if name, err = funcs.JSONKey(env, args[0], c.types[0]); err != nil {
			return err
		}
		n += int64(len(name))
	}
	if err := c.grow(env, int(n)); err != nil {
		return err
	}
	if c.any {
		c.buf = append(c.buf, ", "...)
		if c.kind == "list" && c.ret == types.JSON && (value.K == types.KRecord || value.K == types.KArray) {
			c.buf = append(c.buf, "\n "...)
		}
	}
	c.any = true
	var err error
	if c.kind == "object" {
		c.buf = append(append(c.buf, name...), funcs.Colon(c.ret)...)
	}
	c.buf, err = types.ToJSON(c.buf, value, c.types[len(args)-1], c.ret, env.Types)
	if err == nil {
		err = c.grow(env, 0)
	}
	c.cut()
	return err
}

// cut begins a new piece if the current one is full.
func (c *collector) cut() {
	if len(c.buf) >= piece {
		c.full, c.total = append(c.full, c.buf), c.total+len(c.buf)
		c.buf = make([]byte, 0, piece)
	}
}

// text joins the pieces.
func (c *collector) text(env *exec.Env, open, shut string) (string, error) {
	n := len(open) + c.total + len(c.buf) + len(shut)
	if err := env.Fits(int64(n)); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(open)
	for _, p := range c.full {
		b.Write(p)
	}
	b.Write(c.buf)
	b.WriteString(shut)
	return b.String(), nil
}

// grow reserves the memory of the text with n more bytes.
func (c *collector) grow(env *exec.Env, n int) error {
	want := c.total + len(c.buf) + n
	if want <= c.held {
		return nil
	}
	// Slices grow by at least a quarter.
	want += min(want/4, piece)
	if err := env.Hold(int64(want - c.held)); err != nil {
		return err
	}
	c.held = want
	return nil
}

func (c *collector) Result(env *exec.Env) (types.Datum, error) {
	switch c.kind {
	case "array":
		if len(c.items) == 0 {
			return types.Null, nil
		}
		return types.NewArray(c.types[0], c.items), nil
	case "string":
		if !c.any {
			return types.Null, nil
		}
		s, err := c.text(env, "", "")
		if c.ret == types.Bytea {
			return types.Datum{K: types.KBytes, S: s}, err
		}
		return types.NewText(s), err
	}
	if !c.any {
		return types.Null, nil
	}
	open, shut := "[", "]"
	if c.kind == "object" {
		open, shut = "{", "}"
		if c.ret == types.JSON {
			open, shut = "{ ", " }"
		}
	}
	s, err := c.text(env, open, shut)
	if err == nil && c.kind == "object" && c.ret == types.JSONB {
		if err = env.Fits(int64(len(s))); err == nil {
			s, err = types.PrintJSONB(s, env.Bytes)
		}
	}
	return types.NewJSONText(s), err
}
