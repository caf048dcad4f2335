//go:build fdb

package fdb_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	client "github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/directory"

	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/fdb/fdbtest"
)

// TestDirectory uses the directory layer beside another application, here Apple's binding itself.
func TestDirectory(t *testing.T) {
	e := fdbtest.Whole(t)
	erase(t, e)
	db, err := client.OpenDatabase(fdbtest.AnotherFile(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := directory.CreateOrOpen(db, []string{"other"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := directory.CreateOrOpen(db, []string{"teams", "theirs"}, []byte("theirs")); err != nil {
		t.Fatal(err)
	}

	path := []string{"teams", "divan"}
	if prefix, found, err := fdb.FindDirectory(t.Context(), e, path); found || err != nil {
		t.Errorf("found %x, %v before it was made", prefix, err)
	}
	var wg sync.WaitGroup
	prefixes := make([][]byte, 8)
	for i := range prefixes { // nodes of a cluster start at the same time
		wg.Go(func() {
			var err error
			if prefixes[i], err = fdb.OpenDirectory(t.Context(), e, path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	prefix := prefixes[0]
	for _, p := range prefixes {
		if len(p) == 0 || !bytes.Equal(p, prefix) {
			t.Errorf("prefixes %x", prefixes)
		}
	}
	if bytes.HasPrefix(prefix, other.Bytes()) || bytes.HasPrefix(other.Bytes(), prefix) {
		t.Errorf("%x is within %x or the other way round", prefix, other.Bytes())
	}
	if again, found, err := fdb.FindDirectory(t.Context(), e, path); !found || err != nil ||
		!bytes.Equal(again, prefix) {
		t.Errorf("found %v %x, %v, want %x", found, again, err, prefix)
	}
	seen, err := directory.Open(db, path, []byte("divan"))
	if err != nil || !bytes.Equal(seen.Bytes(), prefix) {
		t.Errorf("Apple's directory layer has %v, %v", seen, err)
	}
	if names, err := directory.List(db, []string{"teams"}); err != nil || strings.Join(names, " ") != "divan theirs" {
		t.Errorf("directories %v, %v", names, err)
	}

	for _, path := range [][]string{{"other"}, {"teams", "theirs"}} {
		if _, err := fdb.OpenDirectory(t.Context(), e, path); err == nil {
			t.Errorf("%v, which belongs to somebody else, was opened", path)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fdb.OpenDirectory(ctx, e, path); err == nil {
		t.Error("opened although cancelled")
	}
}
