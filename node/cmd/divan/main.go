// Command divan is a document database node. `divan help` tells what it takes, and docs/operations.md how to run it.
// What a node is made of is in package node.
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
	statusUsage   = 2 // settings or arguments that cannot be right
	statusLeftOut = 3 // divan export -skip-damaged left something out
)

// command is a subcommand: its name and what it does with the arguments after it.
type command struct {
	name, usage string
	run         func(args []string) int
}

func commands() []command {
	return []command{
		{"node", "run a node; the default", runNode},
		{"check", "read the settings as a node would, and tell what is wrong with them; with -deep read the whole " +
			"store too", check},
		{"verify", "have a node read its whole store, and tell what is damaged; -help tells more", verify},
		{"export", "write a database to a file; -help tells more", exportDatabase},
		{"import", "make a database of such a file", importDatabase},
		{"hash-password", "read a password from standard input and print its hash for node.yaml", hashPassword},
		{"version", "print the version", printVersion},
		{"help", "print this", help},
	}
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	name := "node"
	switch {
	case len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help"):
		name = "help"
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
