package layer_test

import (
	"testing"

	"github.com/divandb/divan/layer"
)

func TestDatabase_Shared(t *testing.T) {
	s := mustStore(t, mustEngine(t), layer.Options{})
	open := func() *layer.Database {
		d, err := s.Database(t.Context(), "db")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	mustCreate(t, s, "db", layer.CreateOptions{})
	was := open().Shared()
	if open().Shared() != was {
		t.Error("two shared handles of one database differ")
	}
	if err := s.Delete(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	now := mustCreate(t, s, "db", layer.CreateOptions{}).Shared()
	if now == was {
		t.Error("databases of one name share a handle")
	}
	_, err := was.Info(t.Context())
	wantKind(t, err, layer.NotFound)
	if _, err := now.Info(t.Context()); err != nil {
		t.Error(err)
	}
}
