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

// defaultURL is where a node with default settings answers.
const defaultURL = "http://127.0.0.1:5984"

// relocation is what `divan export` and `divan import` were asked.
type relocation struct {
	url            string
	settings       []string // flags that name a store to be opened here, instead of a node
	database, file string   // file "-" is standard output or input
	salvage        bool     // leave out what is damaged
}

const relocationUsage = `usage: divan %[1]s [-url URL | -data DIR | -config FILE] DATABASE FILE

%[2]s FILE - is standard %[3]s.

  -url URL      the node's address, with an admin's name and password: http://anna:secret@127.0.0.1:5984
                [DIVAN_URL]; the default is ` + defaultURL + `
  -data DIR     instead of asking a node, open the store in DIR, which no node may be using
  -config FILE  the same, with the settings in FILE: the way to a FoundationDB that no node serves
`

const exportUsage = relocationUsage +
	`  -skip-damaged write what can be read of a damaged database, and list what is left out; the exit
                status is 3 then
`

var errUsage = errors.New("usage")

// parseAnywhere parses flags, which may stand before, between and behind the other arguments, and returns those.
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

// readRelocation reads arguments; flags may stand anywhere.
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
		return r, errors.New("-skip-damaged needs a file, to list what it left out")
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
		return r, errors.New("-url asks a node, -data and -config open its store: only one of the two can be")
	case r.url == "" && r.settings == nil:
		if r.url = os.Getenv("DIVAN_URL"); r.url == "" {
			r.url = defaultURL
		}
	}
	return r, nil
}

// store is the other end of a relocation.
type store interface {
	relocate.Source
	relocate.Salvager
	relocate.Target
}

// open opens the node or store that the flags name. If existing, the store has to be there already, and is only read.
// spool is a directory for large files.
func (r *relocation) open(ctx context.Context, existing bool) (s store, spool string, closeStore func() error,
	err error) {
	if r.settings == nil {
		client, err := relocate.NewClient(r.url)
		return client, "", func() error { return nil }, err
	}
	c, err := config.Load(r.settings, os.LookupEnv)
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
			err = fmt.Errorf("%w: let the node that has it open do the work (-url http://HOST:PORT), or stop that node",
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

// progress tells of itself where somebody looks, and now and then where a log is kept.
func progress() *relocate.Progress {
	every := 30 * time.Second
	if term.IsTerminal(int(os.Stderr.Fd())) {
		every = 2 * time.Second
	}
	return &relocate.Progress{Out: os.Stderr, Every: every}
}

// runRelocation reads the arguments, does the work until a signal ends it, and says what went wrong.
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
		err = fmt.Errorf("%w (no node answers there: give its address with -url, or its store with -data)", err)
	}
	switch {
	case errors.Is(err, errLeftOut):
		return statusLeftOut
	case err != nil:
		return failed(err)
	}
	return statusOK
}

// errLeftOut is the end of an export that has left something out, and has said so.
var errLeftOut = errors.New("what is damaged was left out")

// exportDatabase is `divan export`.
func exportDatabase(args []string) int {
	usage := fmt.Sprintf(exportUsage, "export",
		"Writes a database to FILE. Run again after it was broken off, it goes on where it was.", "output")
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
			some, err := relocate.TellLeft(os.Stdout, x)
			p.Say("%s", relocate.Summary(r.file, x))
			if err == nil && some {
				err = errLeftOut
			}
			return err
		})
}

// importDatabase is `divan import`.
func importDatabase(args []string) int {
	usage := fmt.Sprintf(relocationUsage, "import",
		"Makes a database of what divan export wrote. Nothing of it is seen before all of it is there.", "input")
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
				p.Say("the database %s is there", r.database)
			}
			return err
		})
}
