package find

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/query/mango"
)

// ListIndexes answers GET /{db}/_index.
func (h *Handlers) ListIndexes(q *call.Request) error {
	all, _, err := indexes(q)
	if err != nil {
		return err
	}
	all = append([]*mango.Index{{Name: mango.AllDocs}}, all...)
	limit, err := listParam(q, "limit", 1, len(all))
	if err != nil {
		return err
	}
	skip, err := listParam(q, "skip", 0, 0)
	if err != nil {
		return err
	}
	b := strconv.AppendInt([]byte(`{"total_rows":`), int64(len(all)), 10)
	b = append(b, `,"indexes":[`...)
	all = all[min(skip, len(all)):]
	for i, ix := range all[:min(limit, len(all))] {
		if i > 0 {
			b = append(b, ',')
		}
		b = ix.Append(b)
	}
	return q.SendJSON(http.StatusOK, append(b, ']', '}'))
}

func listParam(q *call.Request, name string, least, absent int) (int, error) {
	text := q.Params.Get(name, "")
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, &fault.Fault{Status: http.StatusInternalServerError, Name: "invalid_list_index_params",
			Reason: "Index parameter ranges: limit > 1, skip > 0"}
	}
	return n, nil
}

// writes is how often a change of a design document is tried again if another one comes in between.
const writes = 5

// change replaces the body of a design document by what edit returns: nil leaves it, an empty one deletes it. The body
// is nil if the document does not exist.
func change(q *call.Request, id string, edit func(body []byte) ([]byte, error)) (changed bool, err error) {
	for range writes {
		var rev layer.Rev
		var old []byte
		doc, err := q.DB.Get(q.Ctx(), id, layer.GetOptions{})
		switch {
		case err == nil && !doc.Deleted:
			rev, old = doc.Rev, doc.Body
		case err != nil && layer.KindOf(err) != layer.NotFound:
			return false, err
		}
		body, err := edit(old)
		if err != nil || body == nil {
			return false, err
		}
		e, err := layer.ParseEdit(body, false)
		if err != nil {
			return false, err
		}
		e.ID, e.Rev, e.Deleted = id, rev, string(body) == "{}"
		if doc != nil && old != nil {
			e.Attachments = kept(doc.Attachments)
		}
		_, err = q.DB.Put(q.Ctx(), e, layer.WriteOptions{User: q.UserCtx()})
		if layer.KindOf(err) != layer.Conflict || err == nil {
			return err == nil, err
		}
	}
	return false, &fault.Fault{Status: http.StatusInternalServerError, Name: "error_saving_ddoc",
		Reason: "Encountered a conflict while saving the design document."}
}

// CreateIndex answers POST /{db}/_index.
func (h *Handlers) CreateIndex(q *call.Request) error {
	object, err := body(q)
	if err != nil {
		return err
	}
	ix, err := mango.ReadNewIndex(object)
	if err != nil {
		return answered(err)
	}
	if err := layer.ValidateID(ix.Design); err != nil {
		return err
	}
	if err := q.RequireDatabaseAdmin(); err != nil {
		return err
	}
	created, err := change(q, ix.Design, func(body []byte) ([]byte, error) { return withIndex(body, ix) })
	if err != nil {
		return err
	}
	result := "exists"
	if created {
		result = "created"
	}
	b := encode.StringMember([]byte{'{'}, "result", result)
	b = encode.StringMember(b, "id", ix.Design)
	return q.SendJSON(http.StatusOK, append(encode.StringMember(b, "name", ix.Name), '}'))
}

// kept returns edits that keep attachments.
func kept(attachments []layer.Attachment) []layer.AttachmentEdit {
	edits := make([]layer.AttachmentEdit, len(attachments))
	for i, a := range attachments {
		edits[i] = layer.AttachmentEdit{Name: a.Name, Stub: true, RevPos: a.RevPos, Digest: a.Digest}
	}
	return edits
}

// withIndex adds an index to the body of a design document. It returns nil if it is there.
func withIndex(body []byte, ix *mango.NewIndex) ([]byte, error) {
	if body == nil {
		b := []byte(`{"language":"query"`)
		if options := ix.Options(); options != nil {
			b = append(append(b, `,"options":`...), options...)
		}
		b = append(jsontext.AppendQuoted(append(b, `,"views":{`...), ix.Name), ':')
		return append(append(b, ix.View...), '}', '}'), nil
	}
	doc := gjson.ParseBytes(body)
	if language := decode.Member(doc, "language"); language.Str != "query" {
		if !language.Exists() {
			language.Raw = "false"
		}
		return nil, &fault.Fault{Status: http.StatusBadRequest, Name: "invalid_ddoc_lang",
			Reason: "Existing design doc has an invalid language: " + language.Raw}
	}
	if !ix.SameOptions(decode.Member(doc, "options")) {
		return nil, &fault.Fault{Status: http.StatusBadRequest, Name: "invalid_partitioned_option",
			Reason: "Requested partitioned option does not match existing value on design document " + ix.Design}
	}
	views := decode.Member(doc, "views")
	if old := decode.Member(views, ix.Name); old.Exists() &&
		bytes.Equal(jsontext.AppendCompact(nil, []byte(old.Raw)), ix.View) {
		return nil, nil
	}
	if !views.IsObject() {
		views = gjson.Parse("{}")
	}
	return with(doc, "views", with(views, ix.Name, ix.View)), nil
}

// with returns an object with a member set, or removed if value is nil.
func with(object gjson.Result, name string, value []byte) []byte {
	b := []byte{'{'}
	add := func(key string, text []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(jsontext.AppendQuoted(b, key), ':'), text...)
	}
	found := false
	object.ForEach(func(key, old gjson.Result) bool {
		switch {
		case key.Str != name:
			add(key.Str, []byte(old.Raw))
		case !found && value != nil:
			add(name, value)
		}
		found = found || key.Str == name
		return true
	})
	if !found && value != nil {
		add(name, value)
	}
	return append(b, '}')
}

// withoutIndexes removes the indexes from the body of a design document of Mango that pick selects. found reports
// whether there are any.
func withoutIndexes(body []byte, pick func(name string) bool) (rest []byte, found bool) {
	doc := gjson.ParseBytes(body)
	views := decode.Member(doc, "views")
	left := []byte("{}")
	if views.IsObject() {
		left = []byte(views.Raw)
		views.ForEach(func(key, _ gjson.Result) bool {
			if pick(key.Str) {
				found, left = true, with(gjson.ParseBytes(left), key.Str, nil)
			}
			return true
		})
	}
	if string(left) == "{}" {
		left = nil
	}
	rest = with(doc, "views", left)
	if string(rest) == `{"language":"query"}` {
		rest = []byte("{}")
	}
	return rest, found
}

// remove removes indexes of a design document. It returns NotFound if there are none.
func remove(q *call.Request, id string, pick func(name string) bool) error {
	_, err := change(q, id, func(body []byte) ([]byte, error) {
		if decode.Member(gjson.ParseBytes(body), "language").Str != "query" {
			return nil, fault.NotFound("missing")
		}
		rest, found := withoutIndexes(body, pick)
		if !found {
			return nil, fault.NotFound("missing")
		}
		return rest, nil
	})
	return err
}

func designID(name string) string { return "_design/" + strings.TrimPrefix(name, "_design/") }

// DeleteIndex answers DELETE /{db}/_index/{design}/json/{name}, in which the design document may have its prefix.
func (h *Handlers) DeleteIndex(q *call.Request) error {
	path := q.Path[2:]
	if path[0] == "_design" {
		path = path[1:]
	}
	if err := q.RequireDatabaseAdmin(); err != nil {
		return err
	}
	if path[1] != "json" {
		return fault.NotFound("missing")
	}
	if err := remove(q, designID(path[0]), func(name string) bool { return name == path[2] }); err != nil {
		return err
	}
	return q.SendOK(http.StatusOK)
}

// DeleteIndexes answers POST /{db}/_index/_bulk_delete, with the indexes of each design document in turn.
func (h *Handlers) DeleteIndexes(q *call.Request) error {
	object, err := body(q)
	if err != nil {
		return err
	}
	ids, err := mango.ReadBulkDelete(object)
	if err != nil {
		return answered(err)
	}
	if err := q.RequireDatabaseAdmin(); err != nil {
		return err
	}
	var done, failed []byte
	for _, name := range ids {
		id := designID(name)
		b := encode.StringMember([]byte{'{'}, "id", id)
		switch err := remove(q, id, func(string) bool { return true }); {
		case err == nil:
			done = before(append(b, `,"ok":true}`...), done)
		case q.Ctx().Err() != nil:
			return err
		default:
			failed = before(append(encode.StringMember(b, "error", fault.Of(err).Name), '}'), failed)
		}
	}
	b := append(append([]byte(`{"success":[`), done...), `],"fail":[`...)
	return q.SendJSON(http.StatusOK, append(append(b, failed...), ']', '}'))
}

// before puts an element before the others of a list: CouchDB lists the last one first.
func before(b, list []byte) []byte {
	if len(list) > 0 {
		b = append(b, ',')
	}
	return append(b, list...)
}
