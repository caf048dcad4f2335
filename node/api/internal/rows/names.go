package rows

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
)

// NamesOptions converts the parameters of _all_dbs to the layer's options.
func NamesOptions(q *call.Request) (o layer.NamesOptions, nothing bool, err error) {
	r := newRowsQuery()
	if err := r.takeParams(q.Params, false); err != nil {
		return o, false, err
	}
	o = layer.NamesOptions{ExcludeEnd: r.excludeEnd, Descending: r.descending, Limit: r.limit, Skip: r.skip}
	start, none := boundary(r.startKey, "", r.descending)
	end, noneAtEnd := boundary(r.endKey, "", !r.descending)
	if start != nil {
		o.Start = *start
	}
	if end != nil {
		o.End = *end
	}
	return o, none || noneAtEnd, nil
}
