// Package layer is the document database: databases, documents, revisions, changes, shards, views, jobs, attachments, local documents and
// security over a kv.Engine. It knows nothing of HTTP, SQL, actors or which engine it runs on. One file and one transaction
// function per operation.
//
// Truth lives in the store's transactions. What a Store or Database keeps in memory is a cache that every transaction checks against the
// database's stamp key (keyspace.Stamp).
package layer

import "context"

// Info is what GET /{db} shows. Counters are exact; sizes are the bytes of bodies and of attachments.
type Info struct {
	Name, UUID                 string
	DocCount, DocDelCount      int64
	UpdateSeq                  Seq
	PurgeSeq                   int64
	ExternalSize, ActiveSize   int64
	Partitioned                bool
	Incarnation                int64
	Shards                     int
	SupersededBodies, RevLimit int64
}

// Info reads the counters and the newest sequence at one read version.
func (d *Database) Info(ctx context.Context) (Info, error) { panic("unwritten") }

// Security is the database's _security object as it was stored, `{}` by default.
func (d *Database) Security(ctx context.Context) ([]byte, error) { panic("unwritten") }

// SetSecurity stores a JSON object. Invalid if members or admins have wrong shapes.
func (d *Database) SetSecurity(ctx context.Context, object []byte) error { panic("unwritten") }

// RevsLimit and SetRevsLimit: 1 to 4000, default 1000 (R5); anything else is Invalid.
func (d *Database) RevsLimit(ctx context.Context) (int, error) { panic("unwritten") }

// SetRevsLimit applies to later edits; existing histories are stemmed when next written.
func (d *Database) SetRevsLimit(ctx context.Context, n int) error { panic("unwritten") }

// Compact removes the bodies that are no leaf any more, and attachment data that no body refers to, in small transactions.
// It is idempotent and may run while the database is written.
func (d *Database) Compact(ctx context.Context) error { panic("unwritten") }
