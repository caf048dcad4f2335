// Package machine examines what a node has of its machine: who can use its files, how many it may open, and how fast
// its disk is. What the node does with that is decided elsewhere; a full disk is the engine's business.
package machine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/config"
)

// Precautions returns what is risky about the machine and the files of a node with this configuration, for the
// operator.
func Precautions(c *config.Config) (warnings []string) {
	if warning := checkDirectory(c.Data); warning != "" {
		warnings = append(warnings, warning)
	}
	if c.File != "" && c.HasSecrets() && readableByAll(c.File) {
		warnings = append(warnings, fmt.Sprintf("everyone on this machine can read the secrets in %s; "+
			"run: chmod 600 %s", c.File, c.File))
	}
	for _, file := range slices.Concat(c.SecretFiles, keyFiles(c)) {
		if !ofRuntime(file) && readableByAll(file) {
			warnings = append(warnings, fmt.Sprintf("everyone on this machine can read the secret in %s; "+
				"run: chmod 600 %s", file, file))
		}
	}
	for _, name := range c.Ignored {
		warnings = append(warnings, fmt.Sprintf("the variable %s is no setting, and is ignored", name))
	}
	if http, sql := Connections(c); http < c.HTTP.MaxConnections || sql < c.SQL.MaxConnections {
		warnings = append(warnings, fmt.Sprintf("the process may open too few files for http.max_connections: %d and "+
			"sql.max_connections: %d; there will be %d and %d connections at most; raise the limit (LimitNOFILE, "+
			"ulimit -n) to %d", c.HTTP.MaxConnections, c.SQL.MaxConnections, http, sql,
			c.HTTP.MaxConnections+c.SQL.MaxConnections+spareFiles))
	}
	return warnings
}

// keyFiles returns the files with the private keys of certificates.
func keyFiles(c *config.Config) (files []string) {
	for _, key := range []string{c.HTTP.TLS.Key, c.SQL.TLS.Key, c.Storage.TLS.Key} {
		if key != "" && !slices.Contains(files, key) {
			files = append(files, key)
		}
	}
	return files
}

// ofRuntime reports whether the runtime of containers made the file, which everyone in its container can read.
func ofRuntime(file string) bool {
	return strings.HasPrefix(file, "/run/secrets/") || strings.HasPrefix(file, "/var/run/secrets/")
}

// spareFiles is the number of open files that connections leave to the store, which keeps up to 500 of its tables open,
// to clients that have not logged in, and to other ports.
const spareFiles = 768

// Connections returns how many connections the HTTP and the SQL port may take: as many as the settings say, or fewer if
// the limit on open files requires it.
func Connections(c *config.Config) (http, sql int) {
	files, ok := openFiles()
	if !ok {
		files = math.MaxInt
	}
	return divide(files, c.HTTP.MaxConnections, c.SQL.MaxConnections)
}

// divide divides a number of files between the ports. If they are few, half is left to everything else, and SQL gets a
// quarter of the rest.
func divide(files uint64, mostHTTP, mostSQL int) (http, sql int) {
	if files >= uint64(mostHTTP)+uint64(mostSQL)+spareFiles {
		return mostHTTP, mostSQL
	}
	left := int(files - min(spareFiles, files/2))
	sql = max(1, min(mostSQL, left/4))
	return max(1, min(mostHTTP, left-sql)), sql
}

const (
	// syncs is how many writes tell how fast a disk is, and within bounds their time on a slow one.
	syncs       = 15
	syncsWithin = time.Second
	// PlausibleSync is the least time in which a disk can store something: the fastest ones with a protected cache
	// take some 30 microseconds. What is faster has not reached a disk.
	PlausibleSync = 15 * time.Microsecond
)

// SyncTime returns the median time to write and sync a block of a file in dir. It returns 0 if that is unknown.
func SyncTime(dir string) (median time.Duration) {
	f, err := os.CreateTemp(dir, ".sync-")
	if err != nil {
		return 0
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 4096)
	var took []time.Duration
	for began := time.Now(); len(took) < syncs && time.Since(began) < syncsWithin; {
		if _, err := f.WriteAt(block, int64(len(took))*int64(len(block))); err != nil {
			return 0
		}
		before := time.Now()
		if err := f.Sync(); err != nil {
			return 0
		}
		took = append(took, time.Since(before))
	}
	slices.Sort(took)
	return max(1, took[len(took)/2])
}
