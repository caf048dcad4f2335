// Command packaging makes what a release consists of: binaries in archives, Debian packages, the directory in which a
// container image is built, a list of all modules in the binary (SBOM), and checksums. scripts/release runs it. What is
// in the program is none of its business; which versions open each other's data is described in docs/upgrades.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// targets are the systems for which there is a release.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
	{"windows", "arm64"},
}

type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program is the name of the binary.
func (t target) program() string {
	if t.os == "windows" {
		return "divan.exe"
	}
	return "divan"
}

// options say what to release.
type options struct {
	root    string // of the repository
	out     string
	version string // "0.2.0"
	targets []target
	binary  string // use this binary instead of building one, for a single target
	sbom    bool
	// compression is dpkg-deb's: xz, or none to test what is in a package.
	compression string
}

func main() {
	o := options{root: ".", compression: "xz"}
	flag.StringVar(&o.out, "o", filepath.Join("bin", "release"), "write to `DIR`")
	flag.StringVar(&o.version, "version", "", "`VERSION` such as 0.2.0; the default is that of the tree, with -dev")
	flag.StringVar(&o.binary, "binary", "", "package `FILE` instead of building; needs exactly one target")
	flag.BoolVar(&o.sbom, "sbom", true, "list the modules, with a tool from the module proxy")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: scripts/release [flags] [OS/ARCH ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	for _, arg := range flag.Args() {
		system, arch, _ := strings.Cut(arg, "/")
		o.targets = append(o.targets, target{system, arch})
	}
	if len(o.targets) == 0 {
		o.targets = targets
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := release(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stopped
	}
}

// versionForm is what a version looks like: that of a tag without its v.
var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// treeVersion matches the version in node/version.go.
var treeVersion = regexp.MustCompile(`(?m)^const release = "(.*)"$`)

// release makes everything in o.out.
func release(ctx context.Context, o options) error {
	if o.version == "" {
		text, err := os.ReadFile(filepath.Join(o.root, "node", "version.go"))
		if err != nil {
			return err
		}
		found := treeVersion.FindSubmatch(text)
		if found == nil {
			return fmt.Errorf("node/version.go has no version")
		}
		o.version = string(found[1]) + "-dev"
	}
	if !versionForm.MatchString(o.version) {
		return fmt.Errorf("%q is not a version such as 0.2.0", o.version)
	}
	for _, t := range o.targets {
		if !slices.Contains(targets, t) {
			return fmt.Errorf("there is no release for %s, only for %v", t, targets)
		}
	}
	if o.binary != "" && len(o.targets) != 1 {
		return fmt.Errorf("-binary needs exactly one target")
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // a release is public
		return err
	}
	// Those of an earlier release are not those of the files from now on.
	if err := os.Remove(filepath.Join(o.out, sums)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// One is compressed while the next one is compiled.
	made := make([][]string, len(o.targets))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for i, t := range o.targets {
		group.Go(func() (err error) {
			if made[i], err = o.target(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := o.container(); err != nil {
		return err
	}
	return checksums(o.out, slices.Concat(made...))
}

// target makes the files for one system, and returns their names.
func (o options) target(ctx context.Context, t target) (files []string, err error) {
	binary := o.binary
	if binary == "" {
		binary = filepath.Join(o.out, "build", t.os+"-"+t.arch, t.program())
		if err := o.build(ctx, t, binary); err != nil {
			return nil, err
		}
	}
	if err := check(ctx, t, binary); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("divan-%s-%s-%s", o.version, t.os, t.arch)
	archive, err := o.archive(ctx, t, base, binary)
	if err != nil {
		return nil, err
	}
	files = append(files, archive)
	if o.sbom {
		if err := o.modules(ctx, base+".cdx.json", binary); err != nil {
			return nil, err
		}
		files = append(files, base+".cdx.json")
	}
	if t.os != "linux" {
		return files, nil
	}
	if err := copyFile(binary, filepath.Join(o.out, "container", "divan-linux-"+t.arch), 0o755); err != nil {
		return nil, err
	}
	deb, err := o.debian(ctx, t, binary)
	if err != nil || deb == "" {
		return files, err
	}
	return append(files, deb), nil
}
