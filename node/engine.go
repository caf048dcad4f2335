package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/remote"
	"github.com/divandb/divan/node/config"
)

// storeDir is the embedded engine's directory, below the data directory.
const storeDir = "store"

func openEngine(ctx context.Context, c *config.Config, log *slog.Logger) (kv.Engine, error) {
	switch s := c.Storage; s.Engine {
	case config.EngineEmbedded:
		o := embedded.Options{CacheBytes: int64(s.Cache), BallastBytes: int64(s.Ballast), Logger: log}
		if s.Compression == config.CompressDense {
			o.Compression = embedded.CompressDense
		}
		return embedded.Open(filepath.Join(c.Data, storeDir), o)
	case config.EngineFDB:
		return openFDB(s)
	case config.EngineRemote:
		secure, err := storeClientTLS(s)
		if err != nil {
			return nil, err
		}
		return remote.Open(ctx, s.Address, remote.Options{Secret: s.Secret, AcceptSecrets: s.AcceptSecrets, TLS: secure,
			Timeout: s.Timeout, Logger: log})
	default:
		return nil, fmt.Errorf("storage.engine %s is not supported", s.Engine)
	}
}

// openFDB opens FoundationDB. It allows a transaction twice storage.timeout, since a node with engine remote can take
// that long to notice that the store is gone: once for its silence and once for a new connection.
func openFDB(s config.Storage) (kv.Engine, error) {
	return fdb.Open(fdb.Options{
		ClusterFile: s.ClusterFile, Timeout: 2 * s.Timeout, RetryLimit: s.Retries, AutomaticIdempotency: s.Idempotency,
		Tag:      s.Tag,
		TraceDir: s.TraceDir, ClientLibraries: s.ClientLibraries,
		TLSCert: s.TLS.Cert, TLSKey: s.TLS.Key, TLSPassword: s.TLS.Password, TLSCA: s.TLS.CA,
		TLSVerifyPeers: s.TLS.Verify,
	})
}

// DescribeStorage describes where a node with this configuration would keep its data. It waits at most describeTimeout
// for FoundationDB. An error says why the node would not start.
func DescribeStorage(ctx context.Context, c *config.Config) (string, error) {
	s := c.Storage
	switch s.Engine {
	case config.EngineRemote:
		return "engine remote, at " + s.Address, nil
	case config.EngineEmbedded:
		return describeEmbedded(ctx, filepath.Join(c.Data, storeDir))
	case config.EngineFDB:
	default:
		return fmt.Sprintf("engine %s, data in %s", s.Engine, c.Data), nil
	}
	file := s.ClusterFile
	if file == "" {
		file = "the client's default"
	}
	where := fmt.Sprintf("engine fdb, cluster file %s, directory %s", file, s.Directory)
	e, err := openFDB(s)
	if err != nil {
		return where, err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	switch prefix, found, err := fdb.FindDirectory(ctx, e, strings.Split(s.Directory, "/")); {
	case errors.Is(err, context.DeadlineExceeded):
		return where, fmt.Errorf("the FoundationDB cluster does not answer within %v", describeTimeout)
	case err != nil:
		return where, err
	case found:
		return fmt.Sprintf("%s, which exists with prefix %x", where, prefix), nil
	}
	return where + ", which does not exist yet: the first node creates it", nil
}

// describeEmbedded describes the store in dir without changing anything there.
func describeEmbedded(ctx context.Context, dir string) (string, error) {
	found, err := embedded.Inspect(dir)
	what, formats := "which does not exist yet: the node creates it", ""
	switch {
	case err != nil && !found.Exists:
		what = "which cannot be examined"
	case found.Exists:
		what = "which exists"
		if found.Version > 0 {
			what += fmt.Sprintf(", at version %d or later", found.Version)
		}
		var data int64
		switch {
		case found.Holder > 0:
			what += fmt.Sprintf(", in use by process %d", found.Holder)
		case found.HolderKnown:
			what += ", not in use"
			if err == nil {
				data, err = dataFormat(ctx, dir)
			}
		}
		formats = "\n" + describeFormats(data, found)
	}
	return fmt.Sprintf("engine embedded, store in %s, %s; %.1f GB free%s", dir, what, float64(found.FreeBytes)/1e9,
		formats), err
}

// dataFormat returns the format of the data in a store that is not in use, 0 for an empty one. The error says why a
// node could not open the store, for example because a table is missing.
func dataFormat(ctx context.Context, dir string) (int64, error) {
	e, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)}, false)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	version, err := layer.FormatOf(ctx, e, nil)
	if err == nil && version > keyspace.FormatVersion {
		err = fmt.Errorf("the store has format %d; this version of Divan knows up to %d: start the version that "+
			"wrote it, or restore a backup", version, keyspace.FormatVersion)
	}
	return version, err
}

// describeFormats describes the format of the data, 0 if it is unknown, and that of the engine's files.
func describeFormats(data int64, found embedded.Found) string {
	text := fmt.Sprintf("the data has format %d and the engine's files have format %d", data, found.PebbleFormat)
	if data == 0 {
		text = fmt.Sprintf("the engine's files have format %d", found.PebbleFormat)
		if found.Holder > 0 {
			text += fmt.Sprintf(", and process %d knows that of the data", found.Holder)
		}
	}
	text += fmt.Sprintf("; this version of Divan writes data of format %d in files of format %d",
		keyspace.FormatVersion, embedded.FileFormat)
	if data > 0 && data < keyspace.FormatVersion {
		text += fmt.Sprintf("; starting the node upgrades its layout from %d to %d, and the earlier version of Divan "+
			"will then refuse it", data, keyspace.FormatVersion)
	}
	return text
}

const describeTimeout = 3 * time.Second
