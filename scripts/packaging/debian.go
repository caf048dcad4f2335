package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed debian
var debianFiles embed.FS

// maintainer is who made the package; the address takes no mail. Faults are reported as SECURITY.md and CONTRIBUTING.md
// say.
const maintainer = "The Divan authors <divandb@users.noreply.github.com>"

const control = `Package: divan
Version: %s
Architecture: %s
Maintainer: ` + maintainer + `
Homepage: https://github.com/divandb/divan
Installed-Size: %d
Depends: adduser
Section: database
Priority: optional
Description: document database with CouchDB's API and SQL
 Divan is a document database that speaks CouchDB's HTTP API and PostgreSQL's
 wire protocol over the same documents. Writes are strictly serialisable, and
 change feeds have one order that never rewinds.
`

// copyright is machine-readable (Debian's copyright format 1.0). The text of the licence is on every Debian system.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Divan
Source: https://github.com/divandb/divan

Files: *
Copyright: 2026 The Divan authors
License: Apache-2.0
 On Debian systems, the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
`

// changelog refers to the one for users.
const changelog = `divan (%s) unstable; urgency=medium

  * /usr/share/doc/divan/CHANGELOG.md says what is new.

 -- %s  %s
`

// zipped compresses a file as Debian's rules want it: without a name and time.
func zipped(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(text)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// debianVersion writes a version so that a candidate sorts before the release: 0.2.0~rc1.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

// debian makes a Debian package with the service, and returns its name, or "" if the machine cannot make one.
func (o options) debian(ctx context.Context, t target, binary string) (name string, err error) {
	tool, err := exec.LookPath("dpkg-deb")
	if err != nil {
		fmt.Println("no Debian package: dpkg-deb is not installed")
		return "", nil
	}
	tree, err := os.MkdirTemp(o.out, "debian-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tree)
	if err := os.Chmod(tree, 0o755); err != nil { //nolint:gosec // public
		return "", err
	}
	if err := o.debianTree(ctx, tree, t, binary); err != nil {
		return "", err
	}
	name = fmt.Sprintf("divan_%s_%s.deb", debianVersion(o.version), t.arch)
	return name, complete(filepath.Join(o.out, name), func(partial string) error {
		//nolint:gosec // our own arguments
		cmd := exec.CommandContext(ctx, tool, "--root-owner-group", "-Z"+o.compression, "--build", tree, partial)
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", o.commitTime(ctx).Unix()))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb: %w: %s", err, out)
		}
		return nil
	})
}

// debianTree writes the files of the package.
func (o options) debianTree(ctx context.Context, tree string, t target, binary string) error {
	settings, err := os.ReadFile(filepath.Join(o.root, "node.yaml"))
	if err != nil {
		return err
	}
	moved := bytes.Replace(settings, []byte("\ndata: ./data       "), []byte("\ndata: /var/lib/divan"), 1)
	if bytes.Equal(moved, settings) {
		return fmt.Errorf("node.yaml has no data: ./data")
	}
	news, err := zipped(fmt.Appendf(nil, changelog, debianVersion(o.version), maintainer,
		o.commitTime(ctx).Format(time.RFC1123Z)))
	if err != nil {
		return err
	}
	page, err := debianFiles.ReadFile("debian/divan.1")
	if err != nil {
		return err
	}
	manual, err := zipped(page)
	if err != nil {
		return err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	about := fmt.Sprintf(control, debianVersion(o.version), t.arch, info.Size()/1024)
	for _, f := range []struct {
		name    string
		content []byte
		mode    os.FileMode
	}{
		{"DEBIAN/control", []byte(about), 0o644},
		{"DEBIAN/conffiles", []byte("/etc/divan/node.yaml\n/etc/default/divan\n"), 0o644},
		{"DEBIAN/postinst", nil, 0o755}, {"DEBIAN/prerm", nil, 0o755}, {"DEBIAN/postrm", nil, 0o755},
		{"etc/divan/node.yaml", moved, 0o640},
		{"etc/default/divan", nil, 0o600},
		{"usr/lib/systemd/system/divan.service", nil, 0o644},
		{"usr/share/doc/divan/copyright", []byte(copyright), 0o644},
		{"usr/share/doc/divan/changelog.gz", news, 0o644},
		{"usr/share/man/man1/divan.1.gz", manual, 0o644},
		{"usr/share/lintian/overrides/divan", nil, 0o644},
	} {
		content := f.content
		if content == nil {
			from := filepath.Base(f.name)
			if from == "divan" { // default, overrides
				from = filepath.Base(filepath.Dir(f.name))
			}
			if content, err = debianFiles.ReadFile("debian/" + from); err != nil {
				return err
			}
		}
		if err := writeFile(filepath.Join(tree, f.name), content, f.mode); err != nil {
			return err
		}
	}
	documents, err := listPapers(o.root)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if d.name == "LICENSE" { // see copyright
			continue
		}
		if err := copyFile(d.from, filepath.Join(tree, "usr/share/doc/divan", d.name), d.mode); err != nil {
			return err
		}
	}
	return copyFile(binary, filepath.Join(tree, "usr/bin/divan"), 0o755)
}
