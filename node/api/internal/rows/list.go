package rows

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
)

// ListQuery reads the parameters of a list that shows some documents of a database. limit, negative for none, and skip
// count what is shown, so the options have neither.
func ListQuery(q *call.Request) (o layer.AllDocsOptions, limit, skip int, err error) {
	r, err := readQuery(q, false, "`keys` body member must be an array.")
	if err == nil {
		err = r.check(false)
	}
	if err != nil {
		return o, 0, 0, err
	}
	limit, skip = r.limit, r.skip
	r.limit, r.skip = -1, 0
	o, _ = r.allDocsOptions(layer.Everything)
	if o.Limit == 0 { // the range has no documents
		limit = 0
	}
	o.Large = false
	return o, limit, skip, nil
}
