package find

import (
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/rows"
	"github.com/divandb/divan/node/api/internal/settings"
	"github.com/divandb/divan/query/mango"
)

// Handlers answer `_index`, `_find` and `_explain`.
type Handlers struct {
	Indexer  rows.Indexer
	Settings *settings.Settings
}

// MaxBody is the maximum size of a request: a parsed selector takes up to selectorCost times the size of its text.
const (
	MaxBody      = 1 << 20
	selectorCost = 32
)

// body reads a request.
func body(q *call.Request) (gjson.Result, error) {
	object, err := q.PostedObject()
	if err != nil {
		return object, err
	}
	return object, q.Body.Parts(selectorCost * int64(len(object.Raw)))
}

// answered converts an error of a request to CouchDB's answer.
func answered(err error) error {
	var wrong *mango.Error
	var missing *mango.ErrNoSearch
	switch {
	case errors.As(err, &wrong):
		return &fault.Fault{Status: http.StatusBadRequest, Name: wrong.Name, Reason: wrong.Reason}
	case errors.As(err, &missing):
		return &fault.Fault{Status: http.StatusServiceUnavailable, Name: "required index service unavailable",
			Reason: missing.Service}
	}
	return err
}

// indexes returns the Mango indexes of the database, sorted, with the design documents that they are in.
func indexes(q *call.Request) (all []*mango.Index, designs map[string]*layer.Design, err error) {
	list, err := q.DB.Designs(q.Ctx())
	if err != nil {
		return nil, nil, err
	}
	designs = map[string]*layer.Design{}
	for _, d := range list {
		if !d.IsMango() {
			continue
		}
		designs[d.ID] = d
		for i, def := range d.Indexes() {
			if def == nil {
				continue // it has no rows
			}
			all = append(all, &mango.Index{Design: d.ID, Name: d.Views[i].Name, Definition: def,
				Partitioned: d.Partitioned})
		}
	}
	return all, designs, nil
}

// query reads a request to `_find` or `_explain` and makes the plan.
func (h *Handlers) query(q *call.Request, explain bool) (p *mango.Plan, designs map[string]*layer.Design, err error) {
	object, err := body(q)
	if err != nil {
		return nil, nil, err
	}
	asked, err := mango.ReadQuery(object, h.Settings.Int("mango", "default_limit", 25))
	if err != nil {
		return nil, nil, answered(err)
	}
	partitioned, err := q.DB.IsPartitioned(q.Ctx())
	if err != nil {
		return nil, nil, err
	}
	if name := q.Params.Get("partition", ""); name != "" {
		if asked.Partition != "" && asked.Partition != name {
			return nil, nil, fault.BadRequest("Conflicting value for `partition` in the body")
		}
		asked.Partition = name
	}
	if asked.Partition != "" {
		if err := layer.ValidatePartition(asked.Partition); err != nil {
			return nil, nil, err
		}
		if !partitioned {
			return nil, nil, fault.BadQuery("`partition` parameter is not supported on this db")
		}
	}
	all, designs, err := indexes(q)
	if err != nil {
		return nil, nil, err
	}
	p, err = mango.Make(asked, all, partitioned, explain)
	return p, designs, answered(err)
}

// Explain answers POST /{db}/_explain.
func (h *Handlers) Explain(q *call.Request) error {
	p, _, err := h.query(q, true)
	if err != nil {
		return err
	}
	partitioned, err := q.DB.IsPartitioned(q.Ctx())
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, p.AppendExplanation(nil, q.DB.Name(), partitioned))
}
