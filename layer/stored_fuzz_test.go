package layer

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// storedParsers read what the layer stores. key is what follows the prefix of the range.
var storedParsers = map[string]func(key, value []byte) error{
	"branch key":   func(key, _ []byte) error { return parseLeafKey(&leafKV{}, key) },
	"branch":       func(_, value []byte) error { return parseLeafValue(&leafKV{}, value, true) },
	"winner":       func(_, value []byte) error { _, err := parseRevPair(value); return err },
	"body":         func(_, value []byte) error { _, err := parseBody(value); return err },
	"changes":      func(key, value []byte) error { return parseEntry(&entry{}, key, value) },
	"local":        func(_, value []byte) error { _, _, err := parseLocal(value); return err },
	"shard map":    func(key, value []byte) error { _, err := parseShardMap(key, value); return err },
	"design entry": func(_, value []byte) error { _, err := parseDesignEntry(value); return err },
	"purge":        func(_, value []byte) error { _, err := parsePurgeInfo(value); return err },
	"wake":         func(_, value []byte) error { _, err := parseWake(value); return err },
	"upload":       func(key, _ []byte) error { _, err := parseUpload(key); return err },
	"heartbeat":    func(_, value []byte) error { _, err := parseBeat(value); return err },
	"view entry":   func(_, value []byte) error { _, err := parseViewEntry(value); return err },
	"view row": func(key, value []byte) error {
		_, err := parseRow(0, kv.KeyValue{Key: key, Value: value})
		return err
	},
	"view error": func(key, value []byte) error {
		_, err := (*Database)(nil).Index(&Design{Views: []ViewDef{{Name: "v"}}}).parseError(0,
			kv.KeyValue{Key: key, Value: value})
		return err
	},
	"partial":        func(key, value []byte) error { return parsePartial(&partial{}, key, value) },
	"build position": func(_, value []byte) error { _, err := parsePosition(value); return err },
	"index sequence": func(_, value []byte) error { _, err := readIndexSeq(value); return err },
}

// FuzzStored: bytes of a damaged store or of another version of the program are an error or values, and never a panic.
func FuzzStored(f *testing.F) {
	r := Rev{Pos: 2, ID: "0123456789abcdef0123456789abcdef"}
	f.Add([]byte{}, []byte{})
	f.Add(tuple.AppendBool(nil, true), appendRev(nil, r))
	f.Add(appendRev(tuple.AppendBool(nil, false), r), []byte(nil))
	winner, _ := appendWinnerValue(nil, 1, 0, 3, nil)
	f.Add([]byte{}, winner)
	attachments := []Attachment{{Name: "a", ContentType: "text/plain", RevPos: 1, Digest: "md5-x", Length: 3}}
	f.Add([]byte{}, appendBody(nil, false, attachments, []byte(`{"n":1}`)))
	f.Add(Seq{}.appendTuple(nil), (&shardMap{ShardMap: ShardMap{Shards: []ShardID{"0", "1"}}}).appendValue(nil))
	long := bytes.Repeat([]byte("1"), entryDigest+1)
	whole := emission{rows: []emitted{{key: []byte(`"k"`), value: []byte("null")}, {key: []byte("2"), value: long}}}
	f.Add([]byte{}, whole.appendEntry(nil))
	f.Add([]byte{}, appendFirstEntry(nil, viewEntry{size: 8, keys: [][]byte{[]byte(`"k"`), []byte("2")}}))
	f.Add(tuple.AppendInt(tuple.AppendString(nil, "doc"), -1), tuple.AppendString(nil, "TypeError"))
	some := partial{rows: 7, first: partialKey{[]byte("1"), []byte{0x15, 1}},
		last: partialKey{[]byte("9"), []byte{0x15, 9}}, state: []byte("30")}
	f.Add([]byte("position"), some.append(nil))
	f.Add([]byte{}, buildPosition{scans: true, after: "doc"}.appendTuple(nil))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, parse := range storedParsers {
			_ = parse(key, value) // whether they are good does not matter here
		}
		var p, again partial
		if parsePartial(&p, key, value) == nil {
			if err := parsePartial(&again, key, p.append(nil)); err != nil || !reflect.DeepEqual(p, again) {
				t.Errorf("a partial aggregate %+v is read back as %+v (%v)", p, again, err)
			}
		}
		if b, err := parseBody(value); err == nil {
			same, err := parseBody(appendBody(nil, b.deleted, b.attachments, b.body))
			if err != nil || !reflect.DeepEqual(same.attachments, b.attachments) ||
				string(same.body) != string(b.body) || same.deleted != b.deleted {
				t.Errorf("a body %+v is read back as %+v (%v)", b, same, err)
			}
		}
	})
}

// FuzzParseSecurity: who may read does not depend on the spelling of members, and what cannot be read is closed.
func FuzzParseSecurity(f *testing.F) {
	f.Add([]byte(`{"members":{"names":["a"],"roles":[]},"MEMBERS":{"roles":[]}}`))
	f.Add([]byte(`{"admins":{"roles":["_admin"]},"readers":{"names":["b"]}}`))
	f.Add([]byte(`{"members":{"names":null}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		s := ParseSecurity(object)
		if _, err := readSecurity(object); err != nil &&
			(s.IsPublic() || s.IsMember(UserCtx{Name: "a", Roles: []string{"x"}})) {
			t.Errorf("%s cannot be read (%v) and is open", object, err)
		}
		if !s.IsMember(UserCtx{Roles: []string{AdminRole}}) {
			t.Errorf("%s is closed to admins", object)
		}
	})
}

// FuzzParseDesign: no design document makes its reader panic.
func FuzzParseDesign(f *testing.F) {
	f.Add([]byte(`{"views":{"v":{"map":"function(d){emit(1)}","reduce":"_sum"},"lib":{"a":"exports.x=1"}},
		"options":{"partitioned":false},"language":"javascript"}`))
	f.Add([]byte(`{"filters":{"f":"function(){}"},"validate_doc_update":"x","options":[],"views":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := ParseDesign("_design/d", Rev{Pos: 1, ID: "a"}, body)
		if (d == nil) == (err == nil) {
			t.Errorf("%s: %v, %v", body, d, err)
		}
	})
}
