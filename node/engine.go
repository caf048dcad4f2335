package node

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/node/config"
)

// storeDir is where the embedded engine lives in the data directory, beside the files that belong to the node itself.
const storeDir = "store"

func openEngine(c *config.Config, log *slog.Logger) (kv.Engine, error) {
	switch s := c.Storage; s.Engine {
	case config.EngineEmbedded:
		return embedded.Open(filepath.Join(c.Data, storeDir), embedded.Options{CacheBytes: int64(s.Cache), Logger: log})
	case config.EngineFDB:
		return fdb.Open(fdb.Options{
			ClusterFile: s.ClusterFile, TraceDir: s.TraceDir, TLSCert: s.TLS.Cert, TLSKey: s.TLS.Key, TLSCA: s.TLS.CA,
		})
	default:
		return nil, fmt.Errorf("storage.engine %s is not in this version", s.Engine)
	}
}
