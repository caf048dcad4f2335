package node

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/tuple"
	"github.com/divandb/divan/node/config"
)

// divan check, which a service runs before each start, says that a store is of a newer format, as the start would.
func TestDescribeStorage_newerFormat(t *testing.T) {
	c := config.Default()
	c.Data = t.TempDir()
	for format, want := range map[int64]string{keyspace.FormatVersion - 1: "", keyspace.FormatVersion: "",
		keyspace.FormatVersion + 1: "knows up to"} {
		e, err := embedded.Open(filepath.Join(c.Data, storeDir), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			tx.Set(tuple.Tuple{int64(keyspace.Format)}.Pack(), tuple.AppendInt(nil, format))
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		said, err := DescribeStorage(t.Context(), c)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: %q, %v", format, said, err)
		}
		sentence := fmt.Sprintf("the data has format %d and the engine's files have format %d; this version of "+
			"Divan writes data of format %d in files of format %d", format, embedded.FileFormat, keyspace.FormatVersion,
			embedded.FileFormat)
		if !strings.Contains(said, sentence) {
			t.Errorf("format %d: %q, want %q", format, said, sentence)
		}
		if older := strings.Contains(said, "upgrades its layout"); older != (format < keyspace.FormatVersion) {
			t.Errorf("format %d: %q", format, said)
		}
	}
}
