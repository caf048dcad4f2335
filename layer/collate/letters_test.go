package collate_test

import (
	"testing"

	"github.com/divandb/divan/layer/collate"
)

func TestHasControls(t *testing.T) {
	for text, want := range map[string]bool{
		`"a"`: false, `"\\b"`: false, `"\b"`: true, `"\t\n\f\r"`: false, `"\u0000"`: true, `["\u000A","\u001f"]`: true,
		`"\u0009\u000b"`: false, `"\u007f\u0020"`: false, `"\\u0001"`: false, `"\\\u000e"`: true, `"\u00"`: false, ``: false,
	} {
		if got := collate.HasControls([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestLettersOf(t *testing.T) {
	const plain, lower, others = collate.Plain, collate.LowerCase, collate.AnyLetters
	for text, want := range map[string][collate.KeyParts]collate.Letters{
		`"2026-11-24T10:00:00.000Z"`: {},
		`null`:                       {}, `true`: {}, `12e3`: {}, ``: {}, `[]`: {}, `{}`: {},
		`"Oslo"`: {lower}, `"ZÜRICH"`: {others}, `"A\"B\\C\/"`: {}, `"\u0041"`: {others}, `"A\n"`: {others},
		"\"A\x7f\"": {others}, `{"A":["B"]}`: {}, `{"a":1}`: {lower}, `"A,\"b"`: {lower}, `"A\\","b"`: {lower},
		`["NO","Oslo",7,null]`: {plain, lower}, `["a,b",["A","b"],"é"]`: {lower, lower, others},
		`[1,2,3,"A","b","C"]`: {plain, plain, plain, lower}, `[ "A" , "b" ]`: {plain, lower},
		`[{"x":[1,2]},"B",["Ä"]]`: {lower, plain, others},
	} {
		if got := collate.LettersOf([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
