package layer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// A design document that cannot be used is in the log once, however often design documents are listed.
func TestDatabase_Designs_log(t *testing.T) {
	var log bytes.Buffer
	s, err := layer.Open(t.Context(), mustEngine(t), layer.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := s.Create(t.Context(), "db", layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"_id":"_design/a","_rev":"1-a","views":5}`, `{"_id":"_design/b","_rev":"1-a"}`} {
		edit, err := layer.ParseEdit([]byte(body), true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Bulk(t.Context(), []layer.Edit{edit}, layer.WriteOptions{Replicated: true}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if list, err := db.Designs(t.Context()); err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
	}
	if n := strings.Count(log.String(), "design document cannot be used"); n != 1 {
		t.Errorf("it is in the log %d times: %s", n, log.String())
	}
}
