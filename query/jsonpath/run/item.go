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
	// time is a date or time of type typ.
	time types.Datum
	typ  types.OID
	zone *time.Location // the zone with which a timestamp was written
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
		if it.zone != nil {
			env = &types.Env{Location: it.zone}
		}
		if it.typ == types.TimeTZ {
			us, offset := it.time.ZonedClock()
			return `"` + string(datetime.AppendOffset(datetime.AppendClock(nil, us), offset, true)) + `"`, nil
		}
		raw, err := types.ToJSON(nil, it.time, it.typ, types.JSONB, env)
		return string(raw), err
	case it.num != nil:
		return it.num.String(), nil
	}
	return it.Text, nil
}
