package script_test

import (
	"testing"

	"github.com/divandb/divan/layer/script"
)

// FuzzMaps_Compile checks that any source, complete or broken, compiles or fails cleanly.
func FuzzMaps_Compile(f *testing.F) {
	oneGoroutine(f)
	for _, tc := range rowCases {
		f.Add(tc.source)
	}
	for _, source := range []string{"`${`${", "/[", "function(){`", "}}}", "var x = 1; function(",
		"function(doc){/a/g}\nfunction b(){}", "\"\\", "a => `${{}}`"} {
		f.Add(source)
	}
	s := open(f, script.Limits{Time: 200e6, Memory: 8 << 20})
	f.Fuzz(func(t *testing.T, source string) {
		m, err := s.Maps(t.Context(), nil, []script.Function{{Name: "f", Source: source}})
		if err != nil {
			return
		}
		if err := m.Map(t.Context(), texts(`{"_id":"a","list":[1,{"b":"c"}]}`), func(int, *script.Mapped) error {
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzMaps_Document checks that every valid JSON text comes back as JSON, and no other text does.
func FuzzMaps_Document(f *testing.F) {
	for _, tc := range rowCases {
		f.Add(tc.doc)
	}
	f.Add(`{"a":[1,2,{"b":null}],"a":"\ud800"}`)
	f.Add("{\"0\":0,\"\x800\":0,\"0\":1}")
	s := open(f, script.Limits{})
	m, err := s.Maps(f.Context(), nil,
		[]script.Function{{Name: "f", Source: `function(doc){ emit(doc, JSON.stringify(doc)) }`}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		err := m.Map(t.Context(), texts(doc), func(_ int, r *script.Mapped) error {
			checkRoundTrip(t, doc, r)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
