package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/layer/kv/outage"
	"github.com/divandb/divan/layer/kv/remote"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/globalchanges"
	"github.com/divandb/divan/node/machine"
)

// storage opens the store of a node, or of a command that works without a node. Its parts stop it.
type storage struct {
	cfg   *config.Config
	log   *slog.Logger
	parts *parts

	reading, salvage bool                    // see OpenStoreToRead
	changed          *globalchanges.Recorder // nil for commands that work without a node
	deleted          func(database string)   // called after a database was deleted; set together with changed

	engine  kv.Engine
	scripts *script.Sandbox
	store   *layer.Store
}

// OpenStore opens the configured store for a command that works without a node, and creates an embedded store if there
// is none. Closing the store releases the data directory.
func OpenStore(ctx context.Context, c *config.Config, log *slog.Logger) (store *layer.Store,
	closeStore func(context.Context) error, err error) {
	s := &storage{cfg: c, log: log, parts: &parts{}}
	for _, step := range []func(context.Context) error{s.makeData, s.open} {
		if err := step(ctx); err != nil {
			return nil, nil, errors.Join(err, s.parts.stop(context.WithoutCancel(ctx)))
		}
	}
	return s.store, s.parts.stop, nil
}

// OpenStoreToRead is OpenStore for a command that only reads. An embedded store must exist, is not changed in any way,
// and may be on a read-only file system. With salvage, a damaged store is opened as far as possible.
func OpenStoreToRead(ctx context.Context, c *config.Config, salvage bool, log *slog.Logger) (
	store *layer.Store, closeStore func(context.Context) error, err error,
) {
	s := &storage{cfg: c, log: log, parts: &parts{}, reading: true, salvage: salvage}
	if err := s.open(ctx); err != nil {
		return nil, nil, errors.Join(err, s.parts.stop(context.WithoutCancel(ctx)))
	}
	return s.store, s.parts.stop, nil
}

// open opens the engine, which also locks the data directory, then the JavaScript sandbox and the layer above them.
func (s *storage) open(ctx context.Context) error {
	var err error
	switch {
	case s.reading && s.cfg.Storage.Engine == config.EngineEmbedded:
		s.engine, err = embedded.OpenReadOnly(
			filepath.Join(s.cfg.Data, storeDir),
			embedded.Options{CacheBytes: int64(s.cfg.Storage.Cache), Logger: s.log}, s.salvage)
	default:
		s.engine, err = openEngine(ctx, s.cfg, s.log)
	}
	if err != nil {
		return err
	}
	s.parts.add("engine", closing(s.engine))
	v := s.cfg.Views
	s.scripts = script.New(script.Options{
		Limits: script.Limits{Time: v.MapTimeout, Memory: int64(v.MapMemory)},
		Log:    func(message string) { s.log.Info("log message of a design document's function", "message", message) },
	})
	s.parts.add("scripts", closing(s.scripts))
	root, err := s.root(ctx)
	if err != nil {
		return err
	}
	s.guard(ctx, root)
	s.store, err = layer.Open(ctx, s.engine, layer.Options{
		Root:          root,
		MaxShards:     s.cfg.Changes.MaxShards,
		MaxDocument:   int(s.cfg.Limits.Document),
		MaxAttachment: int64(s.cfg.Limits.Attachment),
		Logger:        s.log,
		Scripts:       s.scripts,
		Validator:     auth.NewValidator(layer.NewValidator(s.scripts)),
		ReduceTime:    v.ReduceTimeout,
		CleanupAfter:  v.CleanupAfter,
		Compaction: layer.Compaction{
			Auto: s.cfg.Compaction.Auto, Age: s.cfg.Compaction.Age, Latest: s.cfg.Compaction.Latest,
			Bodies: int64(s.cfg.Compaction.Bodies), Bytes: int64(s.cfg.Compaction.Bytes),
		},
		Happened: s.happened(),
		// Uploads of nodes that share the store go on while this one is restarted.
		Owner:    s.cfg.Storage.Engine == config.EngineEmbedded && s.cfg.Storage.Listen == "",
		ReadOnly: s.reading,
		Salvage:  s.salvage,
	})
	if err != nil {
		if kv.IsCode(err, kv.CodeFileCorrupt) {
			err = fmt.Errorf("%w; restore a backup, or save the readable data: "+
				"`divan export -skip-damaged -data DIR DATABASE FILE`", err)
		}
		return fmt.Errorf("open the store: %w", err)
	}
	s.parts.add("store", closing(s.store))
	return nil
}

// makeData creates the data directory and tests that it is writable, because the engine's own error would come later
// and say less. An existing store is also opened, for reading, if its directory is not writable.
func (s *storage) makeData(context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if _, err := os.ReadDir(s.cfg.Data); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	probe, err := os.CreateTemp(s.cfg.Data, ".writable-")
	there, lookErr := embedded.Exists(filepath.Join(s.cfg.Data, storeDir))
	isEmbedded := s.cfg.Storage.Engine == config.EngineEmbedded
	switch {
	case err == nil:
		if isEmbedded && !there && lookErr == nil {
			s.checkDisk()
		}
		return errors.Join(probe.Close(), os.Remove(probe.Name()))
	case isEmbedded && there && lookErr == nil:
		return nil
	}
	return fmt.Errorf("data directory: %w", err)
}

// checkDisk measures the disk before the first start of a store, and tells the operator if it cannot be one: a file
// system in memory, or a controller or virtual machine that says that data is on disk when it is not.
func (s *storage) checkDisk() {
	if took := machine.SyncTime(s.cfg.Data); took > 0 && took < machine.PlausibleSync {
		s.log.Warn("the disk of the data directory is suspiciously fast: a power cut may lose acknowledged writes "+
			"(docs/operations.md, \"A disk that lies\")", "directory", s.cfg.Data, "sync", took.String())
	}
}

// root returns the prefix of all keys in the engine. In FoundationDB it is that of a directory, because other
// applications may use the same cluster.
func (s *storage) root(ctx context.Context) ([]byte, error) {
	c := s.cfg.Storage
	if c.Engine != config.EngineFDB {
		return nil, nil
	}
	prefix, err := fdb.OpenDirectory(ctx, s.engine, strings.Split(c.Directory, "/"))
	if err == nil {
		s.log.Debug("using a FoundationDB directory", "directory", c.Directory, "prefix", fmt.Sprintf("%x", prefix))
	}
	return prefix, err
}

// guard lets requests fail at once while FoundationDB does not answer. Its client lets each wait. The other engines
// know by themselves whether their store is there.
func (s *storage) guard(ctx context.Context, root []byte) {
	if s.cfg.Storage.Engine != config.EngineFDB {
		return
	}
	teller, tells := s.engine.(interface {
		Status(ctx context.Context) (fdb.Status, error)
	})
	guarded := outage.Guard(s.engine, outage.Options{Key: root, Silence: s.cfg.Storage.Timeout})
	s.parts.add("guard of the engine", closing(guarded)) // closes the engine too, which can be closed twice
	s.engine = guarded
	if tells {
		room := &fdb.Room{Status: teller.Status}
		room.Ask(ctx)
		s.engine = clusterEngine{guarded, room}
	}
}

// roomEvery is how often a node asks a cluster for its free space, which is not cheap on a large one.
const roomEvery = time.Minute

// clusterEngine is a guarded FoundationDB, with the disk space that its cluster has left.
type clusterEngine struct {
	*outage.Engine
	*fdb.Room
}

// serve lets other nodes on this machine use the store.
func (s *storage) serve(ctx context.Context) error {
	c := s.cfg.Storage
	if c.Listen == "" {
		return nil
	}
	secure, err := storeServerTLS(c)
	if err != nil {
		return err
	}
	l, err := listen(ctx, "storage", c.Listen)
	if err != nil {
		return err
	}
	server, err := remote.Serve(l, s.engine,
		remote.Options{Secret: c.Secret, AcceptSecrets: c.AcceptSecrets, TLS: secure, Logger: s.log})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.parts.add("store port", closing(server))
	s.log.Info("serving the store to other nodes", "at", server.Addr().String())
	return nil
}

// happened returns what the store calls after each commit that concerns a database as a whole.
func (s *storage) happened() func(layer.DatabaseEvent, string) {
	if s.changed == nil {
		return nil
	}
	return func(what layer.DatabaseEvent, database string) {
		s.changed.Happened(what, database)
		if what == layer.DatabaseDeleted {
			s.deleted(database)
		}
	}
}

// recordChanges begins to record what happens to databases.
func (s *storage) recordChanges(context.Context) error {
	s.parts.add("record of databases", s.changed.Start(s.store))
	return nil
}
