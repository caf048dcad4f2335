package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/console/table"
)

type row struct {
	Name string
	Size float64
}

var rows = table.Table[row]{
	Columns: map[string]func(*row) table.Key{
		"name": func(r *row) table.Key { return table.Text(r.Name) },
		"size": func(r *row) table.Key { return table.Number(r.Size) },
	},
	Default: "name",
	ID:      func(r *row) string { return r.Name },
	Search:  func(r *row) []string { return []string{r.Name} },
}

func names(list []row) string {
	var all []string
	for _, r := range list {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

func TestTable_Select(t *testing.T) {
	list := []row{{"b", 2}, {"a", 2}, {"Cargo", math.NaN()}, {"d", 7}, {"e", -1}}
	for _, c := range []struct {
		q     table.Query
		want  string
		total int
	}{
		{table.Query{}, "Cargo a b d e", 5},
		{table.Query{Sort: "size"}, "Cargo e a b d", 5},
		{table.Query{Sort: "size", Desc: true}, "d a b e Cargo", 5},
		{table.Query{Search: "c G"}, "Cargo", 1},
		{table.Query{Search: "x"}, "", 0},
		{table.Query{Sort: "size", Limit: 2}, "Cargo e", 5},
	} {
		p, err := rows.Select(slices.Values(list), c.q)
		if err != nil || names(p.Rows) != c.want || p.Total != c.total || p.Rows == nil {
			t.Errorf("%+v: %q of %d, %v; want %q", c.q, names(p.Rows), p.Total, err, c.want)
		}
	}
	for want, q := range map[string]table.Query{
		"`sort` must be one of name, size": {Sort: "color"},
		"`limit` must be a number":         {Limit: 1000},
		"`after` is not":                   {After: "?"},
		"`after` is not the":               {After: "bm90IGpzb24"},
		"`after` is not the `next`":        {After: strings.Repeat("a", 10_000)},
		"`search` must not be longer":      {Search: strings.Repeat("a", 10_000)},
	} {
		if _, err := rows.Select(slices.Values(list), q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.50v: %v", q, err)
		}
		if rows.Check(q) == nil {
			t.Errorf("%.50v is valid", q)
		}
	}
}

// All pages together are the sorted list, whether one node has it or several.
func TestTable_pages(t *testing.T) {
	var nodes [3][]row
	var all []row
	for i := range 1000 {
		r := row{fmt.Sprintf("db%04d", rand.IntN(1e6)*1000+i), float64(rand.IntN(20))}
		if r.Size == 0 {
			r.Size = math.NaN()
		}
		nodes[i%3], all = append(nodes[i%3], r), append(all, r)
	}
	for _, q := range []table.Query{{Limit: 7}, {Sort: "size", Limit: 30}, {Sort: "size", Desc: true, Limit: 11},
		{Search: "db1", Sort: "size", Limit: 7}} {
		whole := q
		var want, one, merged []row
		whole.Limit = 500
		for {
			p, err := rows.Select(slices.Values(all), whole)
			if err != nil {
				t.Fatal(err)
			}
			if want = append(want, p.Rows...); p.Next == "" {
				break
			}
			whole.After = p.Next
		}
		for after, pages := "", 0; ; pages++ {
			q.After = after
			p, err := rows.Select(slices.Values(all), q)
			if err != nil || p.Total != len(want) {
				t.Fatal(p.Total, err)
			}
			one = append(one, p.Rows...)
			var parts []table.Page[row]
			for _, list := range nodes {
				part, err := rows.Select(slices.Values(list), q)
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
			m, err := rows.Merge(parts, q)
			if err != nil || m.Total != p.Total || m.Next != p.Next {
				t.Fatalf("merged %d rows, next %q, %v", m.Total, m.Next, err)
			}
			merged = append(merged, m.Rows...)
			if after = p.Next; after == "" {
				break
			}
		}
		if len(want) == 0 || names(one) != names(want) || names(merged) != names(want) {
			t.Errorf("%+v: %d, %d and %d rows", q, len(want), len(one), len(merged))
		}
	}
}

// A page of a long list costs neither much time nor memory.
func BenchmarkSelect(b *testing.B) {
	list := make([]row, 100_000)
	for i := range list {
		list[i] = row{fmt.Sprint("db", i), float64(i * 7919 % 100_003)}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rows.Select(slices.Values(list), table.Query{Sort: "size", Desc: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(list))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
