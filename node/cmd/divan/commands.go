package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/divandb/divan/node"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/machine"
)

// help prints the commands and flags, or with an argument all settings, or what a command does.
func help(args []string) int {
	switch {
	case len(args) == 1 && args[0] == "settings":
		fmt.Print(config.YAML())
		return statusOK
	case len(args) == 1 && args[0] != "help" && isCommand(args[0]):
		return run([]string{args[0], "-help"})
	case len(args) > 0:
		fmt.Fprintf(os.Stderr, "divan: no help about %s; there are `divan help`, `divan help COMMAND` and "+
			"`divan help settings`\n", strings.Join(args, " "))
		return statusUsage
	}
	fmt.Println("Divan is a document database node: CouchDB's HTTP API and Postgres' wire protocol over the " +
		"same documents.")
	fmt.Println("\nUsage: divan [command] [flags]\n\nCommands:")
	for _, c := range commands() {
		fmt.Printf("  %-14s %s\n", c.name, c.usage)
	}
	fmt.Println("\nFlags of node and check [environment]; settings come from flag, environment, node.yaml, default, " +
		"in this order:")
	config.Usage(os.Stdout)
	return statusOK
}

func isCommand(name string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.name == name })
}

func printVersion([]string) int {
	fmt.Println(node.Describe())
	return statusOK
}

// check prints where the settings come from if they are valid. A store that a node could not open is a separate
// failure.
//
// With -deep it also reads the whole store, which no process may have open.
func check(args []string) int {
	isDeep := func(arg string) bool { return arg == "-deep" || arg == "--deep" }
	deep := slices.ContainsFunc(args, isDeep)
	c, status, ok := load(slices.DeleteFunc(slices.Clone(args), isDeep))
	if !ok {
		return status
	}
	from := c.File
	if from == "" {
		from = "the built-in defaults (no " + config.DefaultFile + " here)"
	}
	storage, err := node.DescribeStorage(context.Background(), c)
	fmt.Printf("%s: ok\n%s\nhttp %s, sql %s, gossip %s\n", from, storage, c.HTTP.Listen, c.SQL.Listen, c.Cluster.Gossip)
	for _, w := range machine.Precautions(c) {
		fmt.Println("warning:", w)
	}
	if deep {
		return checkDeep(c) // checkDeep runs into the same error, and reports more
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "divan:", err)
		return statusFailed
	}
	return statusOK
}

const hashPasswordUsage = `usage: divan hash-password [-iterations ROUNDS]

Reads a password from standard input, and prints its hash, for admins in node.yaml.

  -iterations ROUNDS  of PBKDF2; more are stronger, and some clients of the SQL port refuse more than 100000, the
                      default
`

// hashPassword reads the password from standard input, because everyone on the machine can read arguments.
func hashPassword(args []string) int {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	iterations := flags.Int("iterations", config.Default().Auth.SQLIterations, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(hashPasswordUsage)
		return statusOK
	case err != nil:
		fmt.Fprintln(os.Stderr, "divan:", err)
		fmt.Fprint(os.Stderr, hashPasswordUsage)
		return statusUsage
	case flags.NArg() > 0:
		fmt.Fprintln(os.Stderr, "divan: hash-password takes no arguments: the password comes from standard input")
		return statusUsage
	}
	if err := config.CheckIterations(*iterations); err != nil {
		fmt.Fprintln(os.Stderr, "divan: -iterations:", err)
		return statusUsage
	}
	password, err := readPassword()
	if err == nil && password == "" {
		err = errors.New("the password is empty")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "divan:", err)
		return statusUsage
	}
	fmt.Println(auth.NewHash(password, *iterations))
	return statusOK
}

// readPassword reads one line. On a terminal it is not echoed.
func readPassword() (string, error) {
	if fd := int(os.Stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprint(os.Stderr, "Password: ")
		text, err := term.ReadPassword(fd)
		fmt.Fprintln(os.Stderr)
		return string(text), err
	}
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}
