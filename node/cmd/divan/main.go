// Command divan runs a document database node. `divan help` lists its commands and flags, and docs/operations.md
// describes how to run it. Package node has the node itself.
package main

import (
	"fmt"
	"os"
	"strings"
)

// The exit statuses of docs/clauses.md, "Program".
const (
	statusOK      = 0
	statusFailed  = 1 // a port in use, an unreadable data directory ...
	statusUsage   = 2 // invalid settings or arguments
	statusLeftOut = 3 // divan export -skip-damaged left something out
)

// command is a subcommand. run gets the arguments after its name.
type command struct {
	name, usage string
	run         func(args []string) int
}

func commands() []command {
	return []command{
		{"node", "run a node; the default", runNode},
		{"check", "read the settings as a node would and print what is wrong with them; with -deep also read " +
			"the whole store", check},
		{"verify", "have a node read its whole store and print what is damaged; see -help", verify},
		{"export", "write a database to a file; see -help", exportDatabase},
		{"import", "create a database from such a file", importDatabase},
		{"import-couchdb", "move all databases of a CouchDB to a node; see -help", importCouchDB},
		{"status", "print the state of the cluster; see -help", showStatus},
		{"demo", "run nodes with data to look at; see -help", runDemo},
		{"hash-password", "read a password from standard input and print its hash for node.yaml", hashPassword},
		{"version", "print the version, commit, engines and format of data", printVersion},
		{"help", "print this, or what a command does; `divan help settings` prints a node.yaml with all settings",
			help},
	}
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	name := "node"
	switch {
	case len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help"):
		name, args = "help", nil
	case len(args) > 0 && (args[0] == "-version" || args[0] == "--version"):
		name, args = "version", nil
	case len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		name, args = args[0], args[1:]
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(args)
		}
	}
	fmt.Fprintf(os.Stderr, "divan: unknown command %q; `divan help` lists them\n", name)
	return statusUsage
}
