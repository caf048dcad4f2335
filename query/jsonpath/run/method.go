package run

import (
	"math"
	"strconv"

	"github.com/divandb/divan/query/jsonpath"
	"github.com/divandb/divan/query/types"
)

// method evaluates .name().
func (r *Run) method(n *jsonpath.Node, x Item, unwrap bool, f emit) error {
	list := x.Kind == types.JSONList
	switch n.Text {
	case "type":
		if n.Kind == jsonpath.Method {
			return r.next(n, String(typeOf(x)), f)
		}
	case "size":
		if n.Kind != jsonpath.Method {
			break
		}
		size := 1
		switch {
		case list:
			size = types.JSONLen(x.Text)
		case r.Path.Strict && !r.structural:
			return fail(errArrayNotFound, "jsonpath item method .size() can only be applied to an array")
		case r.Path.Strict:
			return nil
		}
		return r.next(n, Number(types.DecimalFromInt(int64(size))), f)
	}
	if unwrap && list {
		return r.each(n, x, f)
	}
	if n.Kind == jsonpath.Datetime {
		return r.datetime(n, x, f)
	}
	switch n.Text {
	case "keyvalue":
		return r.keyValue(n, x, f)
	case "double":
		d, err := double(x)
		if err != nil {
			return err
		}
		return r.next(n, d, f)
	}
	if x.Kind != types.JSONNumber {
		return fail(errNonNumeric, "jsonpath item method .%s() can only be applied to a numeric value", n.Text)
	}
	d, err := x.Decimal()
	if err != nil {
		return err
	}
	switch n.Text {
	case "abs":
		if d.Sign() < 0 {
			d = d.Neg()
		}
	case "floor":
		d = d.Floor()
	case "ceiling":
		d = d.Ceil()
	}
	return r.next(n, Number(d), f)
}

func typeOf(x Item) string {
	if x.Kind != JSONTime {
		return x.Kind.String()
	}
	return types.NameOf(x.Type)
}

func double(x Item) (Item, error) {
	switch x.Kind {
	case types.JSONNumber:
		d, err := x.Decimal()
		if err != nil {
			return x, err
		}
		if f, err := strconv.ParseFloat(d.String(), 64); err != nil || math.IsInf(f, 0) {
			return x, fail(
				errNonNumeric,
				"numeric argument of jsonpath item method .double() is out of range for type double precision",
			)
		}
		return x, nil
	case types.JSONString:
		d, err := types.ParseText(x.str(), types.Float8, nil)
		if err != nil || math.IsInf(d.Float(), 0) || math.IsNaN(d.Float()) {
			return x, fail(
				errNonNumeric,
				"string argument of jsonpath item method .double() is not a valid representation of a double "+
					"precision number",
			)
		}
		return Number(types.DecimalFromFloat(d.Float(), 15)), nil
	}
	return x, fail(errNonNumeric, "jsonpath item method .double() can only be applied to a string or numeric value")
}

// keyValue returns an object for each member, with its name, its value, and an id of the object that contains it: the
// object's offset in the document.
func (r *Run) keyValue(n *jsonpath.Node, x Item, f emit) error {
	if x.Kind != types.JSONObject {
		return fail(errObjectNotFound, "jsonpath item method .keyvalue() can only be applied to an object")
	}
	id := types.OffsetIn(r.Root, x.Text)
	c := types.NewJSONBCursor(x.Text)
	for k, v, ok := c.Member(); ok; k, v, ok = c.Member() {
		if err := r.Step(len(k) + len(v)); err != nil {
			return err
		}
		text := `{"id": ` + strconv.Itoa(id) + `, "key": ` + k + `, "value": ` + v + `}`
		if err := r.next(n, Item{Kind: types.JSONObject, Text: text}, f); err != nil {
			return err
		}
	}
	return nil
}

// datetime reads a date or time.
func (r *Run) datetime(n *jsonpath.Node, x Item, f emit) error {
	if x.Kind != types.JSONString {
		return fail(errDatetime, "jsonpath item method .datetime() can only be applied to a string")
	}
	var template *string
	if n.Flags != "" {
		template = &n.Text
	}
	m, err := r.Datetime(x.str(), template)
	if err != nil {
		return err
	}
	return r.next(n, Item{Kind: JSONTime, Moment: m}, f)
}
