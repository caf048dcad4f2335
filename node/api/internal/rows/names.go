package rows

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
)

// NamesOptions converts the parameters of _all_dbs and _dbs_info to the ranges of names to list, one after the other:
// one for each of keys, if they are given, otherwise one or none.
func NamesOptions(q *call.Request) ([]layer.NamesOptions, error) {
	r := newRowsQuery()
	if err := r.takeParams(q.Params, true); err != nil {
		return nil, err
	}
	if r.hasKeys {
		return eachKey(&r), nil
	}
	o := layer.NamesOptions{ExcludeEnd: r.excludeEnd, Descending: r.descending, Limit: r.limit, Skip: r.skip}
	start, none := boundary(r.startKey, "", r.descending)
	end, noneAtEnd := boundary(r.endKey, "", !r.descending)
	if none || noneAtEnd {
		return nil, nil
	}
	if start != nil {
		o.Start = *start
	}
	if end != nil {
		o.End = *end
	}
	return []layer.NamesOptions{o}, nil
}

// eachKey returns a range for each of the keys that skip and limit leave.
func eachKey(r *rowsQuery) (list []layer.NamesOptions) {
	keys := r.keys[min(r.skip, len(r.keys)):]
	if r.limit >= 0 {
		keys = keys[:min(r.limit, len(keys))]
	}
	for _, key := range keys {
		if name, _ := boundary(key, "", false); name != nil && *name != "" {
			list = append(list, layer.NamesOptions{Start: *name, End: *name, Limit: 1})
		}
	}
	return list
}
