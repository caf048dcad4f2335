package db

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// CreateOptions are the options of Create.
type CreateOptions struct {
	Shards      int  // number of changes shards; 0 means 1 (P5)
	Partitioned bool // ids have the form partition:id, and the documents of a partition share a shard (P2)
	// Security is the initial _security object; nil means `{}`. It is written in the creating transaction, so that the
	// database is never accessible to everyone.
	Security []byte
}

var (
	plainName = regexp.MustCompile(`^[a-z][a-z0-9_$()+/-]*$`)
	// systemNames are also permitted as the last part of a longer name, as in CouchDB.
	systemNames = map[string]bool{"_users": true, "_replicator": true, GlobalChangesDatabase: true, "_dbs": true,
		"_nodes": true, "_metadata": true}
)

// GlobalChangesDatabase is the database whose documents are entries about what happened to databases, such as
// "updated:NAME". Its feed is /_db_updates.
const GlobalChangesDatabase = "_global_changes"

const maxNameLength = 238 // CouchDB's default

// ValidateName rejects the database names that CouchDB rejects.
func ValidateName(name string) error {
	dir, last := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		dir, last = name[:i], name[i+1:]
	}
	switch {
	case len(name) > maxNameLength:
		return fault.Errf(fault.Invalid, "database_name_too_long", "At least one path segment of `%s` is too long.",
			name)
	case plainName.MatchString(name):
		return nil
	case systemNames[last] && (dir == "" && last == name || plainName.MatchString(dir)):
		return nil
	}
	return fault.Errf(fault.Invalid, "illegal_database_name", "Name: '%s'. Only lowercase characters (a-z), digits "+
		"(0-9), and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.", name)
}

// isSystemDatabase reports whether the name, or its last part, is reserved for the system.
func isSystemDatabase(name string) bool {
	return systemNames[name[strings.LastIndexByte(name, '/')+1:]]
}

// Create creates a database. It returns Exists if there is one, and Invalid (illegal_database_name) for names that
// CouchDB would reject.
func (s *Store) Create(ctx context.Context, name string, o CreateOptions) (*Database, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	if o.Shards == 0 {
		o.Shards = 1
	}
	if err := s.CheckShards(o.Shards); err != nil {
		return nil, err
	}
	if o.Partitioned && isSystemDatabase(name) {
		return nil, fault.Errf(fault.Invalid, "bad_request", "Cannot partition a system database")
	}
	if o.Security != nil {
		if _, err := ReadSecurity(o.Security); err != nil {
			return nil, err
		}
	}
	id := s.Ids.next()
	number, c, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{TransactionID: id},
		func(tx kv.Transaction) (int64, error) {
			return s.create(tx, name, o)
		})
	if c.Version >= 0 || err != nil {
		s.Ids.done(id)
	}
	if err != nil {
		return nil, err
	}
	s.happened(DatabaseCreated, name)
	d := s.Handle(s.Known.Remember(NewCore(s.Root, name, number, c.Versionstamp)))
	d.Pinned.Store(true)
	return d, nil
}

// create allocates a prefix number and writes the first configuration.
func (s *Store) create(tx kv.Transaction, name string, o CreateOptions) (number int64, err error) {
	if number, err = s.FreshPrefix(tx, name); err != nil {
		return 0, err
	}
	s.SetName(tx, name, number)

	keys := NewCore(s.Root, name, number, kv.Versionstamp{}).Keys
	tx.SetVersionstampedValue(keys.Sub(nil, keyspace.Stamp), make([]byte, len(kv.Versionstamp{})), 0)
	var uuid [16]byte
	rand.Read(uuid[:])
	tx.Set(keys.Config(nil, ConfigUUID), []byte(hex.EncodeToString(uuid[:])))
	if o.Partitioned {
		tx.Set(keys.Config(nil, ConfigPartitioned), tuple.AppendBool(nil, true))
		tx.Set(keys.Config(nil, ConfigPartitionCounts), PartitionsCounted)
	}
	if o.Security != nil {
		tx.Set(keys.Config(nil, ConfigSecurity), o.Security)
	}
	first := Routing{ShardMap{Scheme: SchemeJump, Shards: new(Config).NextShards(o.Shards)}}
	tx.Set(first.Since.AppendTuple(keys.Config(nil, ConfigShards)), first.AppendValue(nil))
	// Wake keys must exist, so that watches see the deletion of the database.
	for _, shard := range first.Shards {
		tx.Set(keys.Wake(nil, shard), first.Since.AppendTuple(nil))
	}
	return number, nil
}

// FreshPrefix allocates a prefix number for a new database. It returns Exists if the name is in use.
func (s *Store) FreshPrefix(tx kv.Transaction, name string) (int64, error) {
	numbers := prefixesOf(s)
	taken, window := tx.Get(s.NameKey(name)), numbers.start(tx)
	old, err := taken.Wait()
	if err == nil && old != nil {
		err = ErrExists()
	}
	if err != nil {
		window.Close()
		return 0, err
	}
	return numbers.next(tx, window)
}

// ErrExists returns CouchDB's error for a database that exists already.
func ErrExists() error {
	return fault.Errf(fault.Exists, "", "The database could not be created, the file already exists.")
}

// SetName assigns a database name to a prefix number.
func (s *Store) SetName(tx kv.Transaction, name string, number int64) {
	entry := tuple.AppendInt(nil, number)
	offset := len(entry) + 1
	tx.SetVersionstampedValue(s.NameKey(name), tuple.AppendVersionstamp(entry, tuple.IncompleteVersionstamp(0)), offset)
}

// Delete removes a database and everything in it in one short transaction. It returns NotFound if there is no such
// database.
func (s *Store) Delete(ctx context.Context, name string) error {
	id := s.Ids.next()
	c, committed, err := kv.Transact(ctx, s.Engine, kv.TransactOptions{TransactionID: id},
		func(tx kv.Transaction) (*Core, error) {
			c, err := s.Lookup(tx, name)
			if err != nil {
				return nil, err
			}
			tx.MakesRoom()
			tx.Clear(s.NameKey(name))
			kv.ChangeMetadataVersion(tx)
			end, err := tuple.Strinc(c.Keys.Prefix)
			if err != nil {
				return nil, err
			}
			tx.ClearRange(kv.KeyRange{Begin: c.Keys.Prefix, End: end})
			return c, nil
		})
	if committed.Version >= 0 || err != nil {
		s.Ids.done(id)
	}
	if c != nil {
		s.Known.forget(c)
	}
	if err == nil {
		s.happened(DatabaseDeleted, name)
	}
	return err
}
