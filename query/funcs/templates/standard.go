package templates

import (
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/query/datetime"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Standard is a template for reading dates and times as the SQL standard defines it, for the .datetime() of jsonpath
// (parse_datetime in PostgreSQL's formatting.c): the text must match all of the template, and the fields determine the
// type.
type Standard struct {
	text                string
	nodes               []node
	dated, timed, zoned bool
}

// NewStandard parses a template.
func NewStandard(text string) (*Standard, error) {
	if len(text) > maxDateText {
		return nil, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"date or format is longer than the limit of %d bytes", maxDateText)
	}
	t := &Standard{text: text, nodes: parseTemplate(text)}
	for _, n := range t.nodes {
		switch {
		case n.field == nil && !n.quoted && !strings.Contains("-./,':; ", n.char):
			return nil, invalidDate(`invalid datetime format separator: "%s"`, n.char)
		case n.field == nil || n.id == "FX":
		case slices.Contains([]string{"TZ", "TZH", "TZM", "OF"}, n.id):
			t.zoned = true
		case n.mode == anyMode && slices.Contains([]string{"A.M.", "P.M.", "AM", "PM", "HH", "HH12", "HH24", "MI", "SS",
			"MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "SSSS", "SSSSS"}, n.id):
			t.timed = true
		default:
			t.dated = true
		}
	}
	return t, nil
}

// Read reads a text. It returns the value and its type, and for a value with a time zone that zone.
func (t *Standard) Read(text string, env *types.Env) (types.Datum, types.OID, *time.Location, error) {
	fail := func(err error) (types.Datum, types.OID, *time.Location, error) { return types.Null, 0, nil, err }
	if t.text == "" {
		return fail(invalidDate("datetime format is not dated and not timed"))
	}
	r, err := t.fields(text)
	if err != nil {
		return fail(err)
	}
	c, err := r.calendar()
	if err != nil {
		return fail(err)
	}
	offset := r.zoneSign * (r.zoneHours*3600 + r.zoneMinutes*60)
	clock := int64(c.hour*3600+c.min*60+c.sec)*datetime.Second + int64(c.micros)
	days := datetime.DaysOf(c.year, c.month, c.day)
	var out types.Datum
	var typ types.OID
	var zone *time.Location
	if t.zoned {
		zone = time.FixedZone("", offset)
	}
	switch {
	case !t.dated && !t.timed:
		return fail(invalidDate("datetime format is not dated and not timed"))
	case !t.timed && t.zoned:
		return fail(invalidDate("datetime format is zoned but not timed"))
	case !t.timed:
		if !datetime.ValidDate(days) {
			return fail(sqlstate.New(sqlstate.DatetimeOverflow, "date out of range"))
		}
		return types.NewDate(days), types.Date, nil, nil
	case t.dated && days != days*types.Day/types.Day:
		return fail(sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range"))
	case t.dated && t.zoned:
		typ = types.TimestampTZ
		out, err = types.CheckMoment(days*types.Day + clock - int64(offset)*datetime.Second)
	case t.dated:
		typ = types.Timestamp
		out, err = types.CheckMoment(days*types.Day + clock)
	case t.zoned:
		out, typ = types.NewZonedClock(clock, offset), types.TimeTZ
	default:
		out, typ = types.Datum{K: types.KClock, I: clock}, types.Time
	}
	if err == nil && r.precision > 0 {
		out, err = types.Cast(out, typ, typ, int32(r.precision), env)
	}
	if err != nil {
		return fail(err)
	}
	return out, typ, zone, nil
}

// fields reads the fields of a text.
func (t *Standard) fields(text string) (*dateReader, error) {
	if len(text) > maxDateText {
		return nil, sqlstate.New(sqlstate.ProgramLimitExceeded,
			"date or format is longer than the limit of %d bytes", maxDateText)
	}
	r := &dateReader{whole: text, text: text, exact: true}
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case r.text == "":
			return nil, invalidDate("input string is too short for datetime format")
		case n.field != nil:
			if err := r.setMode(n.mode); err != nil {
				return nil, err
			}
			if err := r.read(n, t.nodes[i+1:]); err != nil {
				return nil, err
			}
			continue
		case strings.HasPrefix(r.text, n.char):
			r.text = r.text[len(n.char):]
			continue
		case n.quoted:
			return nil, invalidDate(`unmatched format character "%s"`, n.char)
		}
		return nil, invalidDate(`unmatched format separator "%s"`, n.char)
	}
	if r.skipSpaces(); r.text != "" {
		return nil, invalidDate("trailing characters remain in input string after datetime format")
	}
	return r, nil
}

// isoTemplates are the forms that .datetime() without a template reads, in this order.
var isoTemplates = func() []*Standard {
	var out []*Standard
	for _, text := range []string{"yyyy-mm-dd",
		"HH24:MI:SS.USTZH:TZM", "HH24:MI:SS.USTZH", "HH24:MI:SSTZH:TZM", "HH24:MI:SSTZH", "HH24:MI:SS.US", "HH24:MI:SS",
		"yyyy-mm-dd HH24:MI:SS.USTZH:TZM", "yyyy-mm-dd HH24:MI:SS.USTZH", "yyyy-mm-dd HH24:MI:SSTZH:TZM",
		"yyyy-mm-dd HH24:MI:SSTZH", "yyyy-mm-dd HH24:MI:SS.US", "yyyy-mm-dd HH24:MI:SS",
		`yyyy-mm-dd"T"HH24:MI:SS.USTZH:TZM`, `yyyy-mm-dd"T"HH24:MI:SS.USTZH`, `yyyy-mm-dd"T"HH24:MI:SSTZH:TZM`,
		`yyyy-mm-dd"T"HH24:MI:SSTZH`, `yyyy-mm-dd"T"HH24:MI:SS.US`, `yyyy-mm-dd"T"HH24:MI:SS`} {
		t, err := NewStandard(text)
		if err != nil {
			panic(err)
		}
		out = append(out, t)
	}
	return out
}()

// ReadISO reads a text in one of the forms that need no template; false if it has none of them.
func ReadISO(text string, env *types.Env) (types.Datum, types.OID, *time.Location, bool) {
	for _, t := range isoTemplates {
		if d, typ, zone, err := t.Read(text, env); err == nil {
			return d, typ, zone, true
		}
	}
	return types.Null, 0, nil, false
}
