package spec_test

import (
	"testing"

	"github.com/divandb/divan/node/replicate/spec"
)

// TestSpec_ID compares with the ids that a CouchDB 3.5.0 with this UUID computed.
func TestSpec_ID(t *testing.T) {
	const uuid = "231e8dbb01043715cbf233fbce3f9fa2"
	const ends = `"source":"http://admin:secret@127.0.0.1:24010/a","target":{"url":"http://127.0.0.1:24010/b",` +
		`"auth":{"basic":{"username":"admin","password":"secret"}},"headers":{"X-B":"1","X-A":"zwei"}},"continuous":true`
	cases := []struct{ ends, more, code, want string }{
		{ends, `"x":1`, "", "f0bd1ad2d2062bc428346ec17cd205e6+continuous"},
		{ends, `"doc_ids":["b%20c","a","a"]`, "", "8d5f4c7351d51dfdc7e06a19e01eee76+continuous"},
		{ends, `"doc_ids":[]`, "", "c2a08e8279f5938beb8d73999fd53db0+continuous"},
		{ends, `"doc_ids":["ä"],"winning_revs_only":true`, "", "84d04bc05ce7e5ab93c320859c1d3d4a+continuous"},
		{ends, `"selector":{}`, "", "09b9aab0966e806d5db4a80cb291f464+continuous"},
		{ends, `"selector":{"a":1,"b":{"$gt":2.5}}`, "", "deb74a5b8a25a50665ed446f980d28ae+continuous"},
		{ends, `"selector":{"z":{"$in":[1,2]},"$or":[{"a":"x"},{"b":null}],"c.d":{"$not":{"$eq":300}}}`, "",
			"33959578c6f0c8999eba5200fb307e56+continuous"},
		{ends, `"selector":{"a":[1,2],"b":{"$elemMatch":{"$gt":99999999999}}}`, "",
			"1a8b04483a0a0387ebc9d9356c9c2aab+continuous"},
		{ends, `"filter":"f/one"`, "  function(doc, req) { return true; }  ",
			"f56a931aa8ef1c460abb0268ef14d4f3+continuous"},
		{ends, `"filter":"f/two","query_params":{"k":"v","a":"b"}`, "\nfunction(doc) {\n return true; }\n",
			"12d41b43ba33d69626222129d28f9796+continuous"},
		{ends, `"filter":"_view","query_params":{"view":"f/v"}`, "", "73b094792ad34c15a91bd98a25368879+continuous"},
		{ends, `"filter":"_design"`, "", "5d413a2b69b3c1cb786ae6f359adf2aa+continuous"},
		{ends, `"winning_revs_only":true`, "", "554cc31c1201963980604d4816910415+continuous"},
		{ends, `"create_target":true`, "", "f0bd1ad2d2062bc428346ec17cd205e6+continuous+create_target"},
		{`"source":"http://127.0.0.1:24010/nope","target":"http://127.0.0.1:24010/c"`, `"x":1`, "",
			"f8da283c8952f84fca0849400a37a720"},
		{`"source":"http://127.0.0.1:1/nope","target":"http://127.0.0.1:24010/c"`, `"x":1`, "",
			"3ee9742489d4939f39c6613f2b4820dd"},
		{`"source":{"url":"http://127.0.0.1:24010/a","auth":{"basic":{"username":"admin","password":"secret"}}},` +
			`"target":{"url":"http://127.0.0.1:24010/b","headers":{"Authorization":"Basic YWRtaW46c2VjcmV0"}}`, `"x":1`,
			"", "4360b47bce9571bc3322d26cfb32e32a"},
	}
	for _, c := range cases {
		d := spec.Standard()
		s, err := d.Parse([]byte("{" + c.ends + "," + c.more + "}"))
		if err != nil {
			t.Errorf("%s: %v", c.more, err)
			continue
		}
		if got := s.ID(uuid, spec.TrimCode(c.code)).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.more, got, c.want)
		}
	}
}
