package ranges

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/query/types"
)

// Every string that comes before a text by its bytes, and does not lie before the place up to which the view has been
// read, is in an interval.
func TestSeek_Preceding(t *testing.T) {
	texts := func(alphabet string) *rapid.Generator[string] {
		return rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 0, 6, -1)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := Seek{Desc: rapid.Bool().Draw(rt, "desc"), LowerCase: rapid.Bool().Draw(rt, "lower case")}
		alphabet := "019-:.TZ~ _+A"
		if s.LowerCase {
			alphabet += "tza"
		}
		if !s.Desc {
			s.LowerCase = true
			alphabet += "tzaéßЖ\t\n\x7f\u0301\u0327\u00ad\u00b7\u200b\ufffe\uffff١1l"
		}
		from := ""
		if rapid.Bool().Draw(rt, "begun") {
			from = texts(alphabet).Draw(rt, "from")
		}
		text := texts(alphabet+"\"[é").Draw(rt, "text")
		if rapid.Bool().Draw(rt, "close") && from != "" {
			text = from[:len(from)/2] + text
			text = strings.ToValidUTF8(text, "")
		}
		set := s.Preceding(text, from)
		for range 20 {
			x := texts(alphabet).Draw(rt, "x")
			if rapid.Bool().Draw(rt, "like") {
				x = strings.ToValidUTF8(text[:rapid.IntRange(0, len(text)).Draw(rt, "n")]+x, "")
			}
			value := Text(x)
			if collate.HasControls([]byte(value.S)) || s.Desc && beyond(value.S, s.LowerCase) {
				continue
			}
			if x != text && (x < text) == s.Desc {
				continue
			}
			if from != "" {
				if c, _ := types.CompareJSON(value.S, Text(from).S); c < 0 && !s.Desc || c > 0 && s.Desc {
					continue
				}
			}
			if !set.Contain(value) {
				rt.Fatalf("%+v: %q is not among those before %q from %q on", s, x, text, from)
			}
		}
	})
}

func beyond(json string, lower bool) bool {
	letters := collate.LettersOf([]byte(json))[0]
	return letters == collate.AnyLetters || letters == collate.LowerCase && !lower
}
