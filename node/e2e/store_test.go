package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// testCluster is the fdb.cluster of a FoundationDB that may be written to. If it is empty, nodes use their embedded
// store.
var testCluster = os.Getenv("DIVAN_TEST_FDB_CLUSTER_FILE")

// engine returns the name of the engine that nodes use.
func engine() string {
	if testCluster != "" {
		return "fdb"
	}
	return "embedded"
}

// needEmbedded skips tests that are about the embedded store.
func needEmbedded(t *testing.T) {
	t.Helper()
	if testCluster != "" {
		t.Skip("is about the embedded store")
	}
}

// storeDirectory returns a directory in testCluster for a directory of the test's.
func storeDirectory(dir string) string {
	return fmt.Sprintf("divan-e2e/%x", sha256.Sum256([]byte(dir)))[:32]
}

// storeEnvironment gives a node a store in testCluster that belongs to its data directory, like an embedded one. It
// does not override a node.yaml in dir that configures the store.
func storeEnvironment(dir string, args []string) []string {
	file, _ := os.ReadFile(filepath.Join(dir, "node.yaml"))
	if testCluster == "" || bytes.Contains(file, []byte("storage:")) {
		return nil
	}
	data := filepath.Join(dir, "data")
	for i, arg := range args {
		if arg == "-data" && i+1 < len(args) {
			data = args[i+1]
		}
	}
	return []string{
		"DIVAN_STORAGE_ENGINE=fdb", "DIVAN_STORAGE_CLUSTER_FILE=" + testCluster, "DIVAN_STORAGE_DIRECTORY=" +
			storeDirectory(data),
	}
}
