package reduce

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/collate"
)

// maxRank is the largest N of _top_N and _bottom_N, as in CouchDB.
const maxRank = 100

// ranked is _top_N and _bottom_N: the largest or smallest N values, in this order, without values that are equal in the
// order of keys.
type ranked struct {
	name   string
	most   int
	bottom bool
	values []rankedValue
}

// rankedValue is a value as JSON, and its place in the order of keys.
type rankedValue struct{ place, json []byte }

// CheckName returns what is wrong with the name of a built-in function that New does not know, in CouchDB's words.
func CheckName(text string) string {
	for _, prefix := range []string{"_top_", "_bottom_"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			if _, err := strconv.Atoi(rest); err == nil {
				return "rank value must be between 1 and " + strconv.Itoa(maxRank)
			}
			return "invalid rank reducer"
		}
	}
	return "`" + text + "` is not a supported reduce function."
}

// newRanked returns the function with a name, or nil if it has no valid N.
func newRanked(text string) Aggregate {
	rest, top := strings.CutPrefix(text, "_top_")
	if !top {
		rest = strings.TrimPrefix(text, "_bottom_")
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > maxRank {
		return nil
	}
	return &ranked{name: text, most: n, bottom: !top}
}

func (r *ranked) Reset() { r.values = r.values[:0] }

func (r *ranked) Add(_, value []byte) error {
	place, err := collate.AppendKey(nil, value)
	if err != nil {
		return &Error{r.name, "cannot compare the value " + short(string(value)) + ": " + err.Error()}
	}
	at, found := slices.BinarySearchFunc(r.values, place, func(v rankedValue, place []byte) int {
		order := bytes.Compare(v.place, place)
		if !r.bottom {
			order = -order
		}
		return order
	})
	if found || at == r.most {
		return nil
	}
	r.values = slices.Insert(r.values, at, rankedValue{place, bytes.Clone(value)})
	r.values = r.values[:min(len(r.values), r.most)]
	return nil
}

func (r *ranked) AppendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, v := range r.values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v.json...)
	}
	return append(dst, ']')
}

// AppendState appends the values as JSON.
func (r *ranked) AppendState(dst []byte) ([]byte, bool) { return r.AppendJSON(dst), true }

func (r *ranked) Merge(state []byte) (err error) {
	gjson.ParseBytes(state).ForEach(func(_, value gjson.Result) bool {
		err = r.Add(nil, []byte(value.Raw))
		return err == nil
	})
	return err
}
