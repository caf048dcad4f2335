package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/divandb/divan/node"
	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/relocate"
)

// relocation is a call of `divan export` or `divan import`.
type relocation struct {
	url            string
	settings       []string // flags that name a store to open instead of a node
	database, file string   // file "-" is standard output or input
	salvage        bool     // leave out damaged data
}

const relocationUsage = `usage: divan %[1]s [-url URL | -data DIR | -config FILE] DATABASE FILE

%[2]s FILE - is standard %[3]s.

  -url URL      the node's address, with an admin's name and password: http://anna:secret@127.0.0.1:5984
                [DIVAN_URL, DIVAN_URL_FILE]; the default is ` + defaultURL + `
  -data DIR     instead of asking a node, open the store in DIR, which no node may be using
  -config FILE  the same, with the settings in FILE: the way to a FoundationDB that no node serves
`

const exportUsage = relocationUsage +
	`  -skip-damaged write what can be read of a damaged database, and list what is left out; the exit
                status is 3 then
`

var errUsage = errors.New("usage")

// parseAnywhere parses flags, which may be mixed with other arguments, and returns the other arguments.
func parseAnywhere(flags *flag.FlagSet, args []string) (names []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return names, nil
		}
		names, args = append(names, flags.Arg(0)), flags.Args()[1:]
	}
}

// readRelocation parses the arguments.
func readRelocation(args []string) (r relocation, err error) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address, data, file := flags.String("url", "", ""), flags.String("data", "", ""), flags.String("config", "", "")
	flags.BoolVar(&r.salvage, "skip-damaged", false, "")
	names, err := parseAnywhere(flags, args)
	if err != nil {
		return r, err
	}
	if r.salvage && len(names) == 2 && names[1] == "-" {
		return r, errors.New("-skip-damaged needs a file: it lists what it left out on standard output")
	}
	if len(names) != 2 || names[0] == "" || names[1] == "" {
		return r, errUsage
	}
	r.database, r.file, r.url = names[0], names[1], *address
	for name, value := range map[string]string{"-data": *data, "-config": *file} {
		if value != "" {
			r.settings = append(r.settings, name, value)
		}
	}
	switch {
	case r.url != "" && r.settings != nil:
		return r, errors.New("-url uses a running node, -data and -config open its store: " +
			"only one of the two is possible")
	case r.url == "" && r.settings == nil:
		r.url, err = nodeAddress("")
	}
	return r, err
}

// store is the node or store that a database is exported from or imported to.
type store interface {
	relocate.Source
	relocate.Salvager
	relocate.Target
}

// open opens the node or store that the flags name. If existing is set, the store must exist and is only read. spool is
// a directory for large files.
func (r *relocation) open(ctx context.Context, existing bool) (s store, spool string, closeStore func() error,
	err error) {
	if r.settings == nil {
		client, err := relocate.NewClient(r.url)
		return client, "", func() error { return nil }, err
	}
	c, err := config.Load(r.settings, os.Environ())
	if err != nil {
		return nil, "", nil, err
	}
	log := node.NewLogger(os.Stderr, c.Log)
	var opened relocate.Store
	var stop func(context.Context) error
	if existing {
		opened.Store, stop, err = node.OpenStoreToRead(ctx, c, r.salvage, log)
	} else {
		opened.Store, stop, err = node.OpenStore(ctx, c, log)
	}
	if err != nil {
		if strings.Contains(err.Error(), "in use by another process") {
			err = fmt.Errorf("%w: use the node that has it open (-url http://HOST:PORT), or stop that node",
				err)
		}
		return nil, "", nil, err
	}
	return opened, c.Data, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		return stop(ctx)
	}, nil
}

// progress reports often to a terminal, and rarely to a log.
func progress() *relocate.Progress {
	every := 30 * time.Second
	if term.IsTerminal(int(os.Stderr.Fd())) {
		every = 2 * time.Second
	}
	return &relocate.Progress{Out: os.Stderr, Every: every}
}

// runRelocation parses the arguments, works until it is done or a signal ends it, and prints errors.
func runRelocation(args []string, usage string, existing bool,
	work func(ctx context.Context, r *relocation, s store, spool string, p *relocate.Progress) error) int {
	r, err := readRelocation(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return statusOK
	}
	if err == nil && r.salvage && !existing {
		err = errUsage
	}
	if err != nil {
		if !errors.Is(err, errUsage) {
			fmt.Fprintln(os.Stderr, "divan:", err)
		}
		fmt.Fprint(os.Stderr, usage)
		return statusUsage
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	s, spool, closeStore, err := r.open(ctx, existing)
	if err == nil {
		err = errors.Join(work(ctx, &r, s, spool, progress()), closeStore())
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = fmt.Errorf("%w (no node answers there: pass its address with -url, or its store with -data)", err)
	}
	switch {
	case errors.Is(err, errLeftOut):
		return statusLeftOut
	case err != nil:
		return failed(err)
	}
	return statusOK
}

// errLeftOut ends an export that left something out and has reported it.
var errLeftOut = errors.New("damaged data was left out")

// exportDatabase implements `divan export`.
func exportDatabase(args []string) int {
	usage := fmt.Sprintf(exportUsage, "export",
		"Writes a database to FILE. If it is interrupted, run it again to continue.", "output")
	return runRelocation(args, usage, true,
		func(ctx context.Context, r *relocation, s store, _ string, p *relocate.Progress) error {
			stop := p.Run("exported")
			defer stop()
			var from relocate.Source = s
			if r.salvage {
				from = relocate.Salvage{Salvager: s}
			}
			if r.file == "-" {
				w := p.Writer(os.Stdout)
				return errors.Join(from.Export(ctx, r.database, w, nil), w.Flush())
			}
			x, err := relocate.ExportFile(ctx, from, r.database, r.file, p)
			if err != nil {
				return err
			}
			some, err := relocate.PrintLeftOut(os.Stdout, x)
			p.Say("%s", relocate.Summary(r.file, x))
			if err == nil && some {
				err = errLeftOut
			}
			return err
		})
}

// importDatabase implements `divan import`.
func importDatabase(args []string) int {
	usage := fmt.Sprintf(relocationUsage, "import",
		"Creates a database from a file written by divan export. The database appears once it is complete.", "input")
	return runRelocation(args, usage, false,
		func(ctx context.Context, r *relocation, s store, spool string, p *relocate.Progress) (err error) {
			var file *os.File
			if r.file == "-" {
				file, err = relocate.Spool(os.Stdin, spool)
			} else {
				file, err = os.Open(r.file)
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, file.Close()) }()
			stop := p.Run("imported")
			defer stop()
			if _, err = relocate.ImportFile(ctx, s, r.database, file, p); err == nil {
				p.Say("imported the database %s", r.database)
			}
			return err
		})
}
