package api_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
)

// _db_updates is the feed of _global_changes in another form, for admins.
func TestServer_DatabaseUpdates(t *testing.T) {
	s := serve(t, func(o *api.Options) { o.Auth = accounts })
	for _, feed := range []string{"", "?feed=longpoll", "?feed=continuous"} {
		if status, text := s.as(t, "root", "GET", "/_db_updates"+feed, ""); status != 404 ||
			!strings.Contains(text, "Database does not exist.") || !strings.Contains(text, "`_global_changes`") {
			t.Errorf("without the database: %d %s", status, text)
		}
	}
	db, err := s.store.Create(t.Context(), layer.GlobalChangesDatabase, layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(id string) {
		t.Helper()
		if _, err := db.Put(t.Context(), layer.Edit{ID: id, Body: []byte(`{}`)}, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"created:a", "something else", "_design/a:b", "updated:a/b:c"} {
		write(id)
	}
	seq := regexp.MustCompile(`"[0-9a-f]{26,}"|"[0-9]+-[0-9a-f]+"`)
	const created, updated = `{"db_name":"a","type":"created","seq":S}`, `{"db_name":"a/b:c","type":"updated","seq":S}`
	for query, want := range map[string]string{
		"":                           "{\"results\":[\n" + created + ",\r\n" + updated + "\n],\n\"last_seq\":S}\n",
		"?limit=1":                   "{\"results\":[\n" + created + "\n],\n\"last_seq\":S}\n",
		"?descending=true&limit=1":   "{\"results\":[\n" + updated + "\n],\n\"last_seq\":S}\n",
		"?feed=longpoll":             "{\"results\":[\n" + created + ",\r\n" + updated + "\n],\n\"last_seq\":S}\n",
		"?feed=longpoll&limit=0":     "{\"results\":[\n\n],\n\"last_seq\":\"0\"}\n",
		"?feed=continuous&timeout=1": created + "\n" + updated + "\n{\"last_seq\":S}\n",
		"?feed=eventsource&limit=1": "data: {\"seq\":S,\"id\":\"created:a\",\"changes\":[{\"rev\":S}]}\n" +
			"id: S\n\n",
		"?feed=x":      `{"error":"bad_request","reason":"Supported ` + "`feed`" + ` types: normal, continuous, longpoll, eventsource"}` + "\n",
		"?limit=x":     `{"error":"bad_request","reason":"invalid_integer"}` + "\n",
		"?heartbeat=y": `{"error":"bad_request","reason":"invalid_integer"}` + "\n",
		"?timeout=-1":  `{"error":"bad_request","reason":"invalid_integer"}` + "\n",
		"?since=x":     `{"error":"bad_request","reason":"Malformed sequence supplied in 'since' parameter."}` + "\n",
	} {
		_, text := s.as(t, "root", "GET", "/_db_updates"+query, "")
		if got := seq.ReplaceAllString(text, "S"); got != want {
			t.Errorf("%s:\n%q, want\n%q", query, got, want)
		}
	}
	for _, c := range []struct {
		user, method string
		want         int
	}{{"", "GET", 401}, {"member", "GET", 401}, {"root", "POST", 405}, {"root", "PUT", 405}} {
		if status, text := s.as(t, c.user, c.method, "/_db_updates", ""); status != c.want {
			t.Errorf("%v: %d %s", c, status, text)
		}
	}
	// A write wakes a feed that waits.
	began := time.Now()
	answered := make(chan string)
	go func() {
		_, text := s.as(t, "root", "GET", "/_db_updates?feed=longpoll&since=now&timeout=30000", "")
		answered <- text
	}()
	for woken := false; !woken; {
		select {
		case text := <-answered:
			if !strings.Contains(text, `"db_name":"later","type":"deleted"`) || time.Since(began) > 20*time.Second {
				t.Errorf("after %v: %s", time.Since(began), text)
			}
			woken = true
		case <-time.After(50 * time.Millisecond): // it may not have begun to wait before
			db.Put(t.Context(), layer.Edit{ID: "deleted:later", Body: []byte(`{}`)}, layer.WriteOptions{})
		}
	}
}
