package docs

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/render"
)

// docQuery has the parameters of a document's endpoints. Undocumented values are ignored, as in CouchDB.
type docQuery struct {
	get           layer.GetOptions
	render        render.Options
	openRevs      []layer.Rev
	openAll       bool
	replicated    bool // new_edits=false
	wantsRevs     bool // revs=true; get.Revs may also be set for atts_since
	wantsOpenRevs bool
}

// docID returns the id of the document that the path names: /{db}/{id}, /{db}/_design/{name} or /{db}/_local/{name}.
func docID(q *call.Request) string {
	if len(q.Path) > 2 && (q.Path[1] == "_design" || q.Path[1] == "_local") {
		return q.Path[1] + "/" + q.Path[2]
	}
	return q.Path[1]
}

func isLocal(id string) bool  { return strings.HasPrefix(id, "_local/") }
func isDesign(id string) bool { return strings.HasPrefix(id, "_design/") }

func readDocQuery(q *call.Request) (d docQuery, err error) {
	for _, p := range q.Params {
		if err := d.take(p.Name, p.Value); err != nil {
			return d, err
		}
	}
	d.wantsRevs = d.get.Revs
	d.get.Revs = d.get.Revs || len(d.render.Since) > 0
	return d, nil
}

func (d *docQuery) take(name, value string) (err error) {
	on := value == "true"
	switch name {
	case "attachments":
		d.render.Attachments = d.render.Attachments || on
	case "att_encoding_info":
		d.render.EncodingInfo = d.render.EncodingInfo || on
	case "meta":
		if on {
			d.get.RevsInfo, d.get.Conflicts, d.get.DeletedConflicts = true, true, true
		}
	case "revs":
		d.get.Revs = d.get.Revs || on
	case "revs_info":
		d.get.RevsInfo = d.get.RevsInfo || on
	case "local_seq":
		d.get.LocalSeq = d.get.LocalSeq || on
	case "conflicts":
		d.get.Conflicts = d.get.Conflicts || on
	case "deleted_conflicts":
		d.get.DeletedConflicts = d.get.DeletedConflicts || on
	case "latest":
		d.get.Latest = d.get.Latest || on
	case "rev":
		d.get.Rev, err = parseRev(value)
	case "open_revs":
		if d.openAll = value == "all"; !d.openAll {
			d.openRevs, err = parseRevsParam(value)
		}
		d.wantsOpenRevs = d.openAll || len(d.openRevs) > 0
	case "atts_since":
		d.render.Attachments = true // also with an empty list
		d.render.Since, err = parseRevsParam(value)
	case "new_edits":
		d.replicated = value == "false"
	}
	return err
}

// ofLeaves drops what CouchDB does not tell with several leaves of a document: open_revs and _bulk_get are for
// replicators.
func (d *docQuery) ofLeaves() {
	d.get.RevsInfo, d.get.Conflicts, d.get.DeletedConflicts, d.get.LocalSeq = false, false, false, false
}

// parseRev parses a revision from a parameter or header.
func parseRev(s string) (layer.Rev, error) {
	rev, err := revtree.ParseRev(s)
	if err != nil {
		return rev, fault.BadRequest("Invalid rev format")
	}
	return rev, nil
}

// parseRevsParam parses a JSON array of revisions from a parameter.
func parseRevsParam(text string) ([]layer.Rev, error) {
	list, err := decode.Text(text)
	if err != nil {
		return nil, err
	}
	return parseRevs(list)
}

func parseRevs(list gjson.Result) (revs []layer.Rev, err error) {
	if !list.IsArray() {
		return nil, fault.BadRequest("Invalid list of revisions")
	}
	revs = make([]layer.Rev, 0, decode.Elements(list))
	list.ForEach(func(_, v gjson.Result) bool {
		var rev layer.Rev
		if rev, err = revOf(v); err == nil {
			revs = append(revs, rev)
		}
		return err == nil
	})
	return revs, err
}

// headerRev returns the revision in If-Match, or zero if there is none.
func headerRev(q *call.Request) (layer.Rev, error) {
	header := q.R.Header.Get("If-Match")
	if header == "" {
		return layer.Rev{}, nil
	}
	return parseRev(strings.Trim(header, `"`))
}

// explicitRev returns the revision that the request names with If-Match or ?rev=, or zero. If it uses both, they must
// agree.
func explicitRev(q *call.Request) (rev layer.Rev, err error) {
	if q.Params.Has("rev") {
		if rev, err = parseRev(q.Params.Get("rev", "")); err != nil {
			return rev, err
		}
	}
	header, err := headerRev(q)
	switch {
	case err != nil:
		return rev, err
	case rev.IsZero():
		return header, nil
	case !header.IsZero() && header != rev:
		return rev, fault.BadRequest("Document rev and etag have different values")
	}
	return rev, nil
}
