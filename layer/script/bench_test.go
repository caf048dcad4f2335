package script_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer/script"
)

var city = []byte(`{"_id":"5e1f","_rev":"1-967a00dff5e02add41819138abb3284d","country":"AD","name":"Sant Julià de Lòria","lat":"42.46372","lng":"1.49129"}`)

// order is a document of about 500 bytes with members of all kinds.
var order = []byte(`{"_id":"order:000017","_rev":"3-967a00dff5e02add41819138abb3284d","type":"order","customer":{"id":4711,"name":"Ada Lovelace","email":"ada@example.org"},"date":"2024-02-29T12:34:56Z","items":[{"sku":"A-1","qty":2,"price":19.99},{"sku":"B-22","qty":1,"price":5},{"sku":"C-333","qty":10,"price":0.5}],"tags":["gift","express"],"paid":true,"note":null,"address":{"street":"12 St James's Square","city":"London","country":"GB"},"total":49.98}`)

func BenchmarkMaps(b *testing.B) {
	for _, bench := range []struct {
		name, doc string
		sources   []string
	}{
		{"two functions, city", string(city), []string{
			`function(doc){ if (doc.country) emit(doc.country, doc.name) }`,
			`function(doc){ emit([doc.name, parseFloat(doc.lat)], null) }`,
		}},
		{"three direct functions, city", string(city), []string{
			`function (doc) { if (doc.name) emit(doc.name, null) }`,
			`function (doc) { if (doc.name) emit(doc.name, doc.country) }`,
			`function (doc) { emit([doc.country, doc.lat, doc.lng], 1) }`,
		}},
		{"the same, in the engine", string(city), []string{
			`function (doc, by) { if (doc.name) emit(doc.name, null) }`,
			`function (doc, by) { if (doc.name) emit(doc.name, doc.country) }`,
			`function (doc, by) { emit([doc.country, doc.lat, doc.lng], 1) }`,
		}},
		{"three functions, order", string(order), []string{
			`function(doc){ if (doc.type === "order") emit([doc.customer.id, doc.date], doc.total) }`,
			`function(doc){ if (doc.type === "order") doc.items.forEach(function(i){ emit(i.sku, i.qty * i.price) }) }`,
			`function(doc){ if (doc.tags) for (var i = 0; i < doc.tags.length; i++) emit(doc.tags[i].toLowerCase(), {name: doc.customer.name, paid: doc.paid}) }`,
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := open(b, script.Limits{})
			var functions []script.Function
			for i, source := range bench.sources {
				functions = append(functions, script.Function{Name: fmt.Sprint(i), Source: source})
			}
			m, err := s.Maps(b.Context(), nil, functions)
			if err != nil {
				b.Fatal(err)
			}
			docs := make([][]byte, 100)
			for i := range docs {
				docs[i] = []byte(bench.doc)
			}
			n := 0
			began := cpu()
			b.ReportAllocs()
			for b.Loop() {
				err := m.Map(b.Context(), docs, func(_ int, r *script.Mapped) error {
					for i := range r.Rows {
						if len(r.Rows[i]) == 0 {
							b.Fatal(r.Errs)
						}
					}
					n++
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(float64(n)/(cpu()-began).Seconds(), "docs/cpu-s")
		})
	}
}

// BenchmarkSandbox_Start starts a new runtime with one function.
func BenchmarkSandbox_Start(b *testing.B) {
	s := open(b, script.Limits{Runtimes: 1})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		if _, err := s.Maps(b.Context(), nil,
			[]script.Function{{Name: "f", Source: fmt.Sprintf(`function(doc){ emit(%d) }`, n)}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "runtimes/s")
}

// BenchmarkReduce runs a custom reduction of 100 rows.
func BenchmarkReduce(b *testing.B) {
	s := open(b, script.Limits{})
	f, err := s.Reduce(b.Context(),
		script.Function{Name: "r", Source: `function(keys, values, rereduce){ return sum(values) }`})
	if err != nil {
		b.Fatal(err)
	}
	var keys, values [][]byte
	for i := range 100 {
		keys = append(keys, fmt.Appendf(nil, `["key%d","id%d"]`, i, i))
		values = append(values, fmt.Append(nil, i))
	}
	n := 0
	for b.Loop() {
		if _, err := f.Reduce(b.Context(), keys, values); err != nil {
			b.Fatal(err)
		}
		n += len(values)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkValidate runs a validate_doc_update function on a small document.
func BenchmarkValidate(b *testing.B) {
	s := open(b, script.Limits{})
	f, err := s.Validate(b.Context(), []byte(`{"_id":"_design/d","validate_doc_update":"..."}`),
		script.Function{Name: "v",
			Source: `function(newDoc, oldDoc, userCtx, secObj){ if (!newDoc.name) throw({forbidden: "no name"}) }`})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		if err := f.Validate(b.Context(), city, []byte("null"), []byte(`{"db":"d","name":null,"roles":[]}`),
			[]byte(`{}`)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
}
