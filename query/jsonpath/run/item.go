package run

import (
	"strings"
	"time"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/types"
)

// JSONTime is the kind of an item that is a date or time. Other items have the kind of their JSON value.
const JSONTime types.JSONKind = 'd'

// Item is a value during an evaluation.
type Item struct {
	Kind types.JSONKind
	// Text is the JSON text; empty for computed numbers and for times.
	Text string
	num  *types.Decimal
	Moment
}

// Moment is a date or time.
type Moment struct {
	Value types.Datum
	Type  types.OID
	Zone  *time.Location // with which it was written; nil for the types without a zone
}

// Raw returns an item for a JSON text.
func Raw(text string) Item {
	text = strings.Trim(text, " \t\r\n")
	return Item{Kind: types.JSONKindOf(text), Text: text}
}

// Bool returns a boolean item.
func Bool(b bool) Item {
	if b {
		return Item{Kind: types.JSONBool, Text: "true"}
	}
	return Item{Kind: types.JSONBool, Text: "false"}
}

// String returns a string item.
func String(s string) Item {
	return Item{Kind: types.JSONString, Text: string(jsontext.AppendQuoted(nil, s))}
}

// Number returns a number item.
func Number(d *types.Decimal) Item { return Item{Kind: types.JSONNumber, num: d} }

// Decimal returns the value of a number.
func (it Item) Decimal() (*types.Decimal, error) {
	if it.num != nil {
		return it.num, nil
	}
	return types.ParseDecimal(it.Text)
}

// str returns the value of a string.
func (it Item) str() string { return types.JSONUnquote(it.Text) }

// JSON returns the text of the item.
func (it Item) JSON(env *types.Env) (string, error) {
	switch {
	case it.Kind == JSONTime:
		if it.Zone != nil {
			env = &types.Env{Location: it.Zone}
		}
		if it.Type == types.TimeTZ {
			us, offset := it.Value.ZonedClock()
			return `"` + string(datetime.AppendOffset(datetime.AppendClock(nil, us), offset, true)) + `"`, nil
		}
		raw, err := types.ToJSON(nil, it.Value, it.Type, types.JSONB, env)
		return string(raw), err
	case it.num != nil:
		return it.num.String(), nil
	}
	return it.Text, nil
}
