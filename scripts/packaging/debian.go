package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed debian
var debianFiles embed.FS

const control = `Package: divan
Version: %s
Architecture: %s
Maintainer: The Divan authors <divan@localhost>
Installed-Size: %d
Depends: adduser
Section: database
Priority: optional
Description: document database with CouchDB's API and SQL
 Divan is a document database that speaks CouchDB's HTTP API and PostgreSQL's
 wire protocol over the same documents. Writes are strictly serialisable, and
 change feeds have one order that never rewinds.
`

const copyright = "Divan is licensed under the Apache License, version 2.0:\n\n"

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
	if err := o.debianTree(tree, t, binary); err != nil {
		return "", err
	}
	name = fmt.Sprintf("divan_%s_%s.deb", debianVersion(o.version), t.arch)
	//nolint:gosec // our own arguments
	cmd := exec.CommandContext(ctx, tool, "--root-owner-group", "-Z"+o.compression, "--build", tree,
		filepath.Join(o.out, name))
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", o.commitTime(ctx).Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("dpkg-deb: %w: %s", err, out)
	}
	return name, nil
}

// debianTree writes the files of the package.
func (o options) debianTree(tree string, t target, binary string) error {
	settings, err := os.ReadFile(filepath.Join(o.root, "node.yaml"))
	if err != nil {
		return err
	}
	moved := bytes.Replace(settings, []byte("\ndata: ./data       "), []byte("\ndata: /var/lib/divan"), 1)
	if bytes.Equal(moved, settings) {
		return fmt.Errorf("node.yaml has no data: ./data")
	}
	license, err := os.ReadFile(filepath.Join(o.root, "LICENSE"))
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
		{"usr/share/doc/divan/copyright", append([]byte(copyright), license...), 0o644},
	} {
		content := f.content
		if content == nil {
			if content, err = debianFiles.ReadFile("debian/" + filepath.Base(f.name)); err != nil &&
				filepath.Base(f.name) == "divan" {
				content, err = debianFiles.ReadFile("debian/default")
			}
			if err != nil {
				return err
			}
		}
		if err := writeFile(filepath.Join(tree, f.name), content, f.mode); err != nil {
			return err
		}
	}
	for _, p := range []string{"README.md", "CHANGELOG.md"} {
		if err := copyFile(filepath.Join(o.root, p), filepath.Join(tree, "usr/share/doc/divan", p), 0o644); err != nil {
			return err
		}
	}
	return copyFile(binary, filepath.Join(tree, "usr/bin/divan"), 0o755)
}
