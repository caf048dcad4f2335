package relocate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/relocate"
)

// An export that ends because of damage does not advise to run it again.
func TestExportFile_damaged(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_up" {
			_, _ = io.WriteString(w,
				`{"status":"degraded","reasons":["disk_full: x","store_damaged: the file 000007.sst is damaged"]}`)
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "divan")
	}))
	defer node.Close()
	c, err := relocate.NewClient(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := &relocate.Progress{Out: io.Discard, Every: time.Hour}
	_, err = relocate.ExportFile(t.Context(), c, "db", filepath.Join(t.TempDir(), "file"), p)
	if !layer.IsDamaged(err) || !strings.Contains(err.Error(), "000007.sst") ||
		strings.Contains(err.Error(), "again to go on") {
		t.Error(err)
	}
}
