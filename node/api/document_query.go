package api

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/query/selector"
)

// docQuery are the parameters of a document's endpoints. Values other than those documented are ignored, as CouchDB does.
type docQuery struct {
	get           layer.GetOptions
	render        rendering
	openRevs      []layer.Rev
	openAll       bool
	replicated    bool // new_edits=false
	wantsRevs     bool // revs=true: get.Revs may be set for atts_since alone
	wantsOpenRevs bool
}

// rendering is how much of its attachments a document shows.
type rendering struct {
	attachments  bool             // data instead of stubs
	encodingInfo bool             // att_encoding_info: encoding and encoded_length
	since        []layer.Rev      // atts_since: attachments that one of these revisions has stay stubs
	fields       *selector.Fields // what is shown of a document; nil: all
}

// docID is the document that the path names: /{db}/{id}, /{db}/_design/{name} or /{db}/_local/{name}.
func (q *request) docID() string {
	if len(q.path) > 2 && (q.path[1] == "_design" || q.path[1] == "_local") {
		return q.path[1] + "/" + q.path[2]
	}
	return q.path[1]
}

func isLocal(id string) bool  { return strings.HasPrefix(id, "_local/") }
func isDesign(id string) bool { return strings.HasPrefix(id, "_design/") }

func (q *request) docQuery() (d docQuery, err error) {
	for _, p := range q.params {
		if err := d.take(p.name, p.value); err != nil {
			return d, err
		}
	}
	d.wantsRevs = d.get.Revs
	if len(d.render.since) > 0 {
		d.render.attachments, d.get.Revs = true, true
	}
	return d, nil
}

func (d *docQuery) take(name, value string) (err error) {
	on := value == "true"
	switch name {
	case "attachments":
		d.render.attachments = d.render.attachments || on
	case "att_encoding_info":
		d.render.encodingInfo = d.render.encodingInfo || on
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
		d.render.since, err = parseRevsParam(value)
	case "new_edits":
		d.replicated = value == "false"
	}
	return err
}

// parseRev reads a revision from a parameter or header.
func parseRev(s string) (layer.Rev, error) {
	rev, err := revtree.ParseRev(s)
	if err != nil {
		return rev, badRequest("Invalid rev format")
	}
	return rev, nil
}

// parseRevsParam reads a JSON array of revisions from a parameter.
func parseRevsParam(text string) ([]layer.Rev, error) {
	list, err := parseJSONText(text)
	if err != nil {
		return nil, err
	}
	return parseRevs(list)
}

func parseRevs(list gjson.Result) (revs []layer.Rev, err error) {
	if !list.IsArray() {
		return nil, badRequest("Invalid list of revisions")
	}
	revs = make([]layer.Rev, 0, elements(list))
	list.ForEach(func(_, v gjson.Result) bool {
		var rev layer.Rev
		if rev, err = revOf(v); err == nil {
			revs = append(revs, rev)
		}
		return err == nil
	})
	return revs, err
}

// headerRev is the revision that If-Match names, zero where there is none.
func (q *request) headerRev() (layer.Rev, error) {
	header := q.r.Header.Get("If-Match")
	if header == "" {
		return layer.Rev{}, nil
	}
	return parseRev(strings.Trim(header, `"`))
}

// explicitRev is the revision that the request names, by If-Match or by ?rev=; zero where by neither. Both must say the same.
func (q *request) explicitRev() (rev layer.Rev, err error) {
	if q.params.has("rev") {
		if rev, err = parseRev(q.params.get("rev", "")); err != nil {
			return rev, err
		}
	}
	header, err := q.headerRev()
	switch {
	case err != nil:
		return rev, err
	case rev.IsZero():
		return header, nil
	case !header.IsZero() && header != rev:
		return rev, badRequest("Document rev and etag have different values")
	}
	return rev, nil
}
