package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed" // the files of packages
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// papers are the files and directories beside the binary in an archive, from the root of the repository: what README.md
// and the pages in docs link to.
var papers = []string{"LICENSE", "README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md",
	"node.yaml", "docs", "scripts/examples", "scripts/monitoring", "scripts/packaging/debian/divan.service"}

// listPapers returns the papers as entries of an archive. It leaves out hidden files, and what examples have made.
func listPapers(root string) (entries []entry, err error) {
	for _, p := range papers {
		p = filepath.Join(root, filepath.FromSlash(p))
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case strings.HasPrefix(d.Name(), "."), d.IsDir() && d.Name() == "state":
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			name, err := filepath.Rel(root, path)
			entries = append(entries, entry{filepath.ToSlash(name), path, 0o644})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// entry is a file in an archive.
type entry struct {
	name, from string
	mode       os.FileMode
}

// archive packs the binary and the papers: a zip file for Windows, else tar.gz.
func (o options) archive(ctx context.Context, t target, base, binary string) (name string, err error) {
	entries, err := listPapers(o.root)
	if err != nil {
		return "", err
	}
	entries = slices.Insert(entries, 0, entry{t.program(), binary, 0o755})
	name, write := base+".tar.gz", writeTar
	if t.os == "windows" {
		name, write = base+".zip", writeZip
	}
	return name, complete(filepath.Join(o.out, name), func(partial string) error {
		f, err := os.Create(partial)
		if err != nil {
			return err
		}
		return errors.Join(write(f, base, entries, o.commitTime(ctx)), f.Close())
	})
}

// complete lets make write a file under another name in its directory, and renames it once it is complete. So a release
// that is interrupted leaves nothing incomplete under the name of a file of the release.
func complete(file string, make func(partial string) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // public
		return err
	}
	partial := filepath.Join(filepath.Dir(file), ".partial-"+filepath.Base(file))
	err := make(partial)
	if err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		_ = os.Remove(partial) // it may not exist
	}
	return err
}

func writeTar(w io.Writer, base string, entries []entry, at time.Time) error {
	z := gzip.NewWriter(w)
	a := tar.NewWriter(z)
	for _, e := range entries {
		content, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		if err := a.WriteHeader(&tar.Header{Name: base + "/" + e.name, Mode: int64(e.mode), Size: int64(len(content)),
			ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := a.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(a.Close(), z.Close())
}

func writeZip(w io.Writer, base string, entries []entry, at time.Time) error {
	a := zip.NewWriter(w)
	for _, e := range entries {
		content, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: base + "/" + e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		f, err := a.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(content); err != nil {
			return err
		}
	}
	return a.Close()
}

// commitTime is the time of the files in archives, so that the same commit gives the same archives.
func (o options) commitTime(ctx context.Context) time.Time {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct")
	cmd.Dir = o.root
	out, err := cmd.Output()
	seconds, parseErr := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil || parseErr != nil {
		return time.Unix(0, 0).UTC()
	}
	return time.Unix(seconds, 0).UTC()
}

//go:embed Containerfile
var containerfile []byte

// container completes the directory in which an image is built, if there are binaries for one.
func (o options) container() error {
	dir := filepath.Join(o.out, "container")
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // no binary for Linux
	}
	return writeFile(filepath.Join(dir, "Containerfile"), containerfile, 0o644)
}

// sums is the file with the checksums.
const sums = "SHA256SUMS"

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func checksums(dir string, files []string) error {
	slices.Sort(files)
	var b strings.Builder
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // just made
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), name)
	}
	return writeFile(filepath.Join(dir, sums), []byte(b.String()), 0o644)
}

func copyFile(from, to string, mode os.FileMode) error {
	content, err := os.ReadFile(from) //nolint:gosec // a file of the release
	if err != nil {
		return err
	}
	return writeFile(to, content, mode)
}

func writeFile(to string, content []byte, mode os.FileMode) error {
	return complete(to, func(partial string) error {
		if err := os.WriteFile(partial, content, mode); err != nil { //nolint:gosec // public
			return err
		}
		return os.Chmod(partial, mode) // whatever the umask is
	})
}
