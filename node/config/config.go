// Package config turns flags, environment variables and node.yaml into one checked Config.
//
// Precedence, highest first: flag, environment (DIVAN_...), node.yaml, built-in default. Every fault in every source is
// found before anything is reported, each with the line it stands on (docs/clauses.md, "Program").
package config

import (
	"time"

	"github.com/divandb/divan/node/auth"
)

// Config holds every setting. The yaml tags are the names in node.yaml; the path of a setting, in capitals and with
// underscores, after DIVAN_ is its environment variable: storage.engine is DIVAN_STORAGE_ENGINE. The zero value is not
// usable: start from Default or Load.
type Config struct {
	// Name is how other nodes call this one; empty means divan@HOST:PORT of the HTTP listener.
	Name string `yaml:"name"`
	// Data is the directory of the embedded store, created when missing. Relative paths are relative to the working
	// directory.
	Data    string  `yaml:"data"`
	HTTP    HTTP    `yaml:"http"`
	SQL     SQL     `yaml:"sql"`
	Cluster Cluster `yaml:"cluster"`
	Storage Storage `yaml:"storage"`
	// Admins maps a user name to a password hash (auth.ParseHash). Empty: everyone is an admin, on loopback only.
	Admins  map[string]string `yaml:"admins"`
	Auth    Auth              `yaml:"auth"`
	Changes Changes           `yaml:"changes"`
	Views   Views             `yaml:"views"`
	Limits  Limits            `yaml:"limits"`
	// Compaction is when what was superseded is removed.
	Compaction Compaction `yaml:"compaction"`
	Log        Log        `yaml:"log"`

	// AdminPassword is the clear password of the single admin given by -admin or DIVAN_ADMIN, by name. It has no place
	// in node.yaml: files keep hashes.
	AdminPassword map[string]string `yaml:"-"`
	// File is the node.yaml that was read, empty if none was.
	File string `yaml:"-"`
}

// HTTP is the CouchDB side.
type HTTP struct {
	Listen string `yaml:"listen"`
	TLS    TLS    `yaml:"tls"`
	CORS   CORS   `yaml:"cors"`
	// Proxies are addresses or networks (CIDR) of reverse proxies whose X-Forwarded-For is believed.
	Proxies []string `yaml:"proxies"`
	// MaxConnections is how many connections there may be. Beyond it idle ones are closed for new ones.
	MaxConnections int `yaml:"max_connections"`
	// HeaderTimeout is how long a client may take to say what it wants, IdleTimeout how long it may then keep the
	// connection for its next request.
	HeaderTimeout time.Duration `yaml:"header_timeout"`
	IdleTimeout   time.Duration `yaml:"idle_timeout"`
	// BodyTimeout is how long a client may send nothing of a body. Over that time it has to send MinRate bytes a second
	// on average.
	BodyTimeout time.Duration `yaml:"body_timeout"`
	MinRate     Size          `yaml:"min_rate"`
	// AnswerTimeout is how long a client may take to accept 32 KiB of an answer.
	AnswerTimeout time.Duration `yaml:"answer_timeout"`
	// Bodies is the memory for all bodies of requests under way, and what is made of them.
	Bodies Size `yaml:"bodies"`
}

// SQL is the Postgres side. With TLS files set, clients may ask for TLS; plain connections stay possible, as in
// Postgres.
type SQL struct {
	Listen string `yaml:"listen"`
	TLS    TLS    `yaml:"tls"`
	// MaxConnections refuses further sessions with 53300, as Postgres' max_connections.
	MaxConnections int `yaml:"max_connections"`
	// Memory bounds what statements, cursors, prepared statements and messages of all sessions hold together,
	// SessionMemory those of one session, StatementMemory one statement. Beyond it a statement ends with 53200.
	Memory          Size `yaml:"memory"`
	SessionMemory   Size `yaml:"session_memory"`
	StatementMemory Size `yaml:"statement_memory"`
}

// TLS names two PEM files; both empty means no TLS.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// CORS lets pages of other origins use the HTTP side from a browser, as CouchDB's [cors] section.
type CORS struct {
	Enabled bool `yaml:"enabled"`
	// Origins are scheme://host[:port], or a single "*".
	Origins     []string `yaml:"origins"`
	Credentials bool     `yaml:"credentials"`
	// Methods and Headers empty: CouchDB's lists.
	Methods []string      `yaml:"methods"`
	Headers []string      `yaml:"headers"`
	MaxAge  time.Duration `yaml:"max_age"`
}

// Cluster is gossip and actor remoting.
type Cluster struct {
	Gossip string `yaml:"gossip"`
	// Remoting is where actors of other nodes reach this one. Empty: gossip's host and the next port, or a free one
	// where that is taken.
	Remoting string `yaml:"remoting"`
	// Advertise is the IP address other nodes use for this one; empty means the host of gossip.
	Advertise string `yaml:"advertise"`
	// Join lists gossip addresses of members to meet at the start.
	Join []string `yaml:"join"`
	// Secret encrypts gossip and remoting. Needed when either leaves loopback.
	Secret string `yaml:"secret"`
	// AcceptSecrets are accepted from other nodes beside Secret, while it is being changed.
	AcceptSecrets []string `yaml:"accept_secrets"`
}

// Engines, the values of storage.engine.
const (
	EngineEmbedded = "embedded"
	EngineFDB      = "fdb"
	EngineRemote   = "remote"
)

// Values of storage.compression.
const (
	CompressFast  = "fast"
	CompressDense = "dense"
)

// Storage chooses the engine.
type Storage struct {
	Engine string `yaml:"engine"`
	// Listen is where the embedded store serves the other nodes of this machine; empty serves nobody.
	Listen string `yaml:"listen"`
	// Address is the Listen of the node that holds the store, for the remote engine.
	Address string `yaml:"address"`
	// Secret authenticates both sides of Listen and Address.
	Secret string `yaml:"secret"`
	// AcceptSecrets are accepted beside Secret, while it is being changed.
	AcceptSecrets []string `yaml:"accept_secrets"`
	// ClusterFile is the path of fdb.cluster; empty for the client's default.
	ClusterFile string `yaml:"cluster_file"`
	// Directory is where Divan lives in FoundationDB's directory layer, with slashes between directories.
	Directory string `yaml:"directory"`
	// Tag marks Divan's transactions in FoundationDB, so that its operator can see and throttle them; empty marks none.
	Tag string `yaml:"tag"`
	// Retries is how often a transaction is tried on FoundationDB; 0 is for as long as its request lives.
	Retries int `yaml:"retries"`
	// Idempotency is FoundationDB's automatic one.
	Idempotency bool `yaml:"idempotency"`
	// TraceDir is where FoundationDB's client writes its trace logs; empty writes none.
	TraceDir string `yaml:"trace_dir"`
	// ClientLibraries is a directory with FoundationDB client libraries of further versions; empty is none.
	ClientLibraries string `yaml:"client_libraries"`
	// TLS is for Listen, Address, and a FoundationDB cluster that speaks it.
	TLS struct {
		Cert     string `yaml:"cert"`
		Key      string `yaml:"key"`
		Password string `yaml:"password"`
		CA       string `yaml:"ca"`
		Verify   string `yaml:"verify"`
	} `yaml:"tls"`
	// Timeout is how long a store on another node, or FoundationDB, may be silent before it counts as gone; a request
	// waits twice this at most.
	Timeout time.Duration `yaml:"timeout"`
	// Cache is how much of the embedded store is kept in memory, in bytes.
	Cache Size `yaml:"cache"`
	// Ballast is how much of the disk the embedded store holds for when something else has filled it, in bytes; 0 is
	// none.
	Ballast Size `yaml:"ballast"`
	// Compression is how densely the embedded store is written: fast or dense.
	Compression string `yaml:"compression"`
	// Backups is the directory below which POST /_backup makes its copies; empty: backups in Data.
	Backups string `yaml:"backups"`
}

// Auth is about passwords and sessions.
type Auth struct {
	// Secret signs session cookies; empty means a random one that all nodes on the store share.
	Secret string `yaml:"secret"`
	// Timeout is the life of a session cookie; it is renewed while it is used.
	Timeout time.Duration `yaml:"timeout"`
	// PersistentCookies gives the cookie a Max-Age, so that it outlives the browser.
	PersistentCookies bool `yaml:"persistent_cookies"`
	// SameSite is the cookie's attribute: empty, lax, strict or none.
	SameSite string `yaml:"same_site"`
	// RequireUser refuses anonymous requests, but for logging in and /_up.
	RequireUser bool `yaml:"require_user"`
	// Iterations of PBKDF2 for new passwords of the _users database.
	Iterations int `yaml:"iterations"`
	// SQLIterations are those of the SCRAM verifier by which users and admins log in over SQL.
	SQLIterations int     `yaml:"sql_iterations"`
	Lockout       Lockout `yaml:"lockout"`
}

// Lockout refuses log-ins from an address under a name after several wrong passwords, as CouchDB's
// [chttpd_auth_lockout].
type Lockout struct {
	// Mode is enforce, warn (only the log tells) or off.
	Mode string `yaml:"mode"`
	// Threshold is after how many wrong passwords.
	Threshold int `yaml:"threshold"`
	// Lifetime is how long they count, from the first one on.
	Lifetime time.Duration `yaml:"lifetime"`
	// MaxObjects bounds the pairs of address and name that are remembered.
	MaxObjects int `yaml:"max_objects"`
}

// Changes is about the change feed.
type Changes struct {
	// MaxShards caps the shards of one database; DefaultShards is what a new one gets.
	MaxShards     int `yaml:"max_shards"`
	DefaultShards int `yaml:"default_shards"`
}

// Views is about indexers and the JavaScript they run.
type Views struct {
	// Batch is how many documents an indexer takes at first; it adapts.
	Batch int `yaml:"batch"`
	// Workers is how many indexes are built at once on this node.
	Workers int `yaml:"workers"`
	// MapTimeout and MapMemory bound one JavaScript function over one document.
	MapTimeout time.Duration `yaml:"map_timeout"`
	MapMemory  Size          `yaml:"map_memory"`
	// ReduceTimeout bounds one query's JavaScript reductions.
	ReduceTimeout time.Duration `yaml:"reduce_timeout"`
	// CleanupAfter is how long after a design document has changed unused indexes are removed; 0 leaves that to
	// _view_cleanup.
	CleanupAfter time.Duration `yaml:"cleanup_after"`
}

// Compaction removes superseded revisions, and attachments that no revision has any more.
type Compaction struct {
	// Auto is whether databases are compacted by themselves; otherwise only _compact does.
	Auto bool `yaml:"auto"`
	// Age is for how long a superseded revision stays readable at least.
	Age time.Duration `yaml:"age"`
	// Bodies and Bytes start the compaction of a database that has so many superseded revisions, or so many bytes of
	// them. Less is removed once it is as old as Latest.
	Bodies int           `yaml:"bodies"`
	Bytes  Size          `yaml:"bytes"`
	Latest time.Duration `yaml:"latest"`
	// Share is how much of the time this node may work on it, in per cent of one thread.
	Share int `yaml:"share"`
}

// Limits refuse what is larger (413).
type Limits struct {
	Document   Size `yaml:"document"`
	Attachment Size `yaml:"attachment"`
	// Request bounds a body that is not an attachment, such as _bulk_docs.
	Request Size `yaml:"request"`
	// Bulk is how many documents one _bulk_docs may have, and one _bulk_get ask for.
	Bulk int `yaml:"bulk"`
}

// Log is about standard error.
type Log struct {
	// Level is debug, info, warn or error.
	Level string `yaml:"level"`
	// Format is auto, text or json; auto is text on a terminal.
	Format string `yaml:"format"`
}

// Default returns the settings of a node without any configuration. node.yaml in the repository root says the same,
// held equal by a test.
func Default() *Config {
	return &Config{
		Data: "./data",
		HTTP: HTTP{
			Listen: "127.0.0.1:5984",
			CORS:   CORS{MaxAge: 10 * time.Minute},

			MaxConnections: 8192, HeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute,
			BodyTimeout: 30 * time.Second, MinRate: 512, AnswerTimeout: 2 * time.Minute, Bodies: 512 << 20,
		},
		SQL: SQL{Listen: "127.0.0.1:5433", MaxConnections: 200, Memory: 512 << 20, SessionMemory: 256 << 20,
			StatementMemory: 128 << 20},
		Cluster: Cluster{Gossip: "127.0.0.1:7946"},
		Storage: Storage{
			Engine: EngineEmbedded, Directory: "divan", Timeout: 5 * time.Second, Cache: 128 << 20, Ballast: 64 << 20,
			Compression: CompressFast,
		},
		Auth: Auth{
			Timeout:           10 * time.Minute,
			PersistentCookies: true,
			Iterations:        600_000,
			SQLIterations:     100_000,
			Lockout: Lockout{Mode: auth.LockoutEnforce, Threshold: 5, Lifetime: 5 * time.Minute,
				MaxObjects: 10_000},
		},
		Changes: Changes{MaxShards: 64, DefaultShards: 1},
		Views: Views{
			Batch:         100,
			MapTimeout:    5 * time.Second,
			MapMemory:     64 << 20,
			ReduceTimeout: 30 * time.Second,
			Workers:       4,
		},
		Compaction: Compaction{
			Auto: true, Age: 10 * time.Minute, Bodies: 1000, Bytes: 64 << 20, Latest: 24 * time.Hour, Share: 20,
		},
		Limits: Limits{Document: 8_000_000, Attachment: 1 << 30, Request: 64 << 20, Bulk: 100_000},
		Log:    Log{Level: "info", Format: "auto"},
	}
}
