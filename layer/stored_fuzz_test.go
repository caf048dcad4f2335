package layer

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/divandb/divan/layer/internal/aggregate"
	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/query"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// storedParsers parse the values that the layer stores. key is the part after the prefix of the range.
var storedParsers = map[string]func(key, value []byte) error{
	"branch key":   func(key, _ []byte) error { return rev.ParseLeafKey(&rev.LeafKV{}, key) },
	"branch":       func(_, value []byte) error { return rev.ParseLeafValue(&rev.LeafKV{}, value, true) },
	"winner":       func(_, value []byte) error { _, err := db.ParseRevPair(value); return err },
	"body":         func(_, value []byte) error { _, err := rev.ParseBody(value); return err },
	"changes":      func(key, value []byte) error { return feed.ParseEntry(&feed.Entry{}, key, value) },
	"local":        func(_, value []byte) error { _, _, err := write.ParseLocal(value); return err },
	"shard map":    func(key, value []byte) error { _, err := db.ParseShardMap(key, value); return err },
	"design entry": func(_, value []byte) error { _, err := db.ParseDesignEntry(value); return err },
	"purge":        func(_, value []byte) error { _, err := write.ParsePurgeInfo(value); return err },
	"wake":         func(_, value []byte) error { _, err := db.ParseWake(value); return err },
	"upload":       func(key, _ []byte) error { _, err := attach.ParseUpload(key); return err },
	"heartbeat":    func(_, value []byte) error { _, err := jobs.ParseBeat(value); return err },
	"view entry":   func(_, value []byte) error { _, err := index.ParseViewEntry(value); return err },
	"view row": func(key, value []byte) error {
		_, err := query.ParseRow(0, kv.KeyValue{Key: key, Value: value})
		return err
	},
	"view error": func(key, value []byte) error {
		_, err := index.Of(nil).Index(&design.Design{Views: []design.ViewDef{{Name: "v"}}}).ParseError(0,
			kv.KeyValue{Key: key, Value: value})
		return err
	},
	"partial":        func(key, value []byte) error { return aggregate.ParsePartial(&aggregate.Partial{}, key, value) },
	"build position": func(_, value []byte) error { _, err := index.ParsePosition(value); return err },
	"index sequence": func(_, value []byte) error { _, err := index.ReadIndexSeq(value); return err },
}

// FuzzStored checks that bytes of a damaged store, or of another version of the program, give an error or values, and
// never a panic.
func FuzzStored(f *testing.F) {
	r := db.Rev{Pos: 2, ID: "0123456789abcdef0123456789abcdef"}
	f.Add([]byte{}, []byte{})
	f.Add(tuple.AppendBool(nil, true), db.AppendRev(nil, r))
	f.Add(db.AppendRev(tuple.AppendBool(nil, false), r), []byte(nil))
	winner, _ := rev.AppendWinnerValue(nil, 1, 0, 3, &rev.LeafKV{Size: 3, Attachments: 1})
	f.Add([]byte{}, winner)
	attachments := []rev.Attachment{{Name: "a", ContentType: "text/plain", RevPos: 1, Digest: "md5-x", Length: 3}}
	f.Add([]byte{}, rev.AppendBody(nil, false, attachments, []byte(`{"n":1}`)))
	f.Add(db.Seq{}.AppendTuple(nil),
		(&db.Routing{ShardMap: db.ShardMap{Shards: []db.ShardID{"0", "1"}}}).AppendValue(nil))
	long := bytes.Repeat([]byte("1"), index.EntryDigest+1)
	whole := index.Emission{Rows: []index.Emitted{{Key: []byte(`"k"`), Value: []byte("null")},
		{Key: []byte("2"), Value: long}}}
	f.Add([]byte{}, whole.AppendEntry(nil))
	f.Add([]byte{}, appendFirstEntry(nil, index.ViewEntry{Size: 8, Keys: [][]byte{[]byte(`"k"`), []byte("2")}}))
	f.Add(tuple.AppendInt(tuple.AppendString(nil, "doc"), -1), tuple.AppendString(nil, "TypeError"))
	some := aggregate.Partial{Rows: 7, First: aggregate.PartialKey{Json: []byte("1"), Sort: []byte{0x15, 1}},
		Last: aggregate.PartialKey{Json: []byte("9"), Sort: []byte{0x15, 9}}, State: []byte("30")}
	f.Add([]byte("position"), some.Append(nil))
	f.Add([]byte{}, index.BuildPosition{Scans: true, After: "doc"}.AppendTuple(nil))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, parse := range storedParsers {
			_ = parse(key, value) // whether they are valid does not matter here
		}
		var p, again aggregate.Partial
		if aggregate.ParsePartial(&p, key, value) == nil {
			if err := aggregate.ParsePartial(&again, key, p.Append(nil)); err != nil || !reflect.DeepEqual(p, again) {
				t.Errorf("a partial aggregate %+v is read back as %+v (%v)", p, again, err)
			}
		}
		if b, err := rev.ParseBody(value); err == nil {
			same, err := rev.ParseBody(rev.AppendBody(nil, b.Deleted, b.Attachments, b.Body))
			if err != nil || !reflect.DeepEqual(same.Attachments, b.Attachments) ||
				string(same.Body) != string(b.Body) || same.Deleted != b.Deleted {
				t.Errorf("a body %+v is read back as %+v (%v)", b, same, err)
			}
		}
	})
}

// FuzzParseSecurity checks that read permission does not depend on the spelling of members, and that an unreadable
// object denies access.
func FuzzParseSecurity(f *testing.F) {
	f.Add([]byte(`{"members":{"names":["a"],"roles":[]},"MEMBERS":{"roles":[]}}`))
	f.Add([]byte(`{"admins":{"roles":["_admin"]},"readers":{"names":["b"]}}`))
	f.Add([]byte(`{"members":{"names":null}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		s := db.ParseSecurity(object)
		if _, err := db.ReadSecurity(object); err != nil &&
			(s.IsPublic() || s.IsMember(db.UserCtx{Name: "a", Roles: []string{"x"}})) {
			t.Errorf("%s cannot be read (%v) and is open", object, err)
		}
		if !s.IsMember(db.UserCtx{Roles: []string{db.AdminRole}}) {
			t.Errorf("%s is closed to admins", object)
		}
	})
}

// FuzzParseDesign checks that no design document makes its parser panic.
func FuzzParseDesign(f *testing.F) {
	f.Add([]byte(`{"views":{"v":{"map":"function(d){emit(1)}","reduce":"_sum"},"lib":{"a":"exports.x=1"}},
		"options":{"partitioned":false},"language":"javascript"}`))
	f.Add([]byte(`{"filters":{"f":"function(){}"},"validate_doc_update":"x","options":[],"views":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := design.ParseDesign("_design/d", db.Rev{Pos: 1, ID: "a"}, body)
		if (d == nil) == (err == nil) {
			t.Errorf("%s: %v, %v", body, d, err)
		}
	})
}
