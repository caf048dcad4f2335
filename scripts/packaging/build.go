package main

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// sbomTool lists the modules of a binary in CycloneDX's format. It is a tool like the linter, and no dependency.
const sbomTool = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0"

// build compiles the program: the same commit gives the same file on every machine.
func (o options) build(ctx context.Context, t target, to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	fmt.Println("building for", t)
	return complete(to, func(partial string) error {
		//nolint:gosec // our own arguments
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags",
			"-s -w -buildid= -X github.com/divandb/divan/node.version="+o.version, "-o", partial, "./node/cmd/divan")
		cmd.Dir = o.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		return cmd.Run()
	})
}

// check refuses a binary for another system, one with replaced modules, which `go install` could not build, and for
// Linux one that needs files of the machine. If the machine can run it, it must start.
func check(ctx context.Context, t target, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != t.os || settings["GOARCH"] != t.arch {
		return fmt.Errorf("%s is for %s/%s", binary, settings["GOOS"], settings["GOARCH"])
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			return fmt.Errorf("%s was built with a replaced %s", binary, d.Path)
		}
	}
	if t.os == "linux" {
		f, err := elf.Open(binary)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return fmt.Errorf("%s is linked dynamically", binary)
			}
		}
	}
	if t.os != runtime.GOOS || t.arch != runtime.GOARCH {
		return nil
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, "version").Output() //nolint:gosec // the binary just made
	if err != nil || !strings.HasPrefix(string(out), "divan ") {
		return fmt.Errorf("%s version: %q, %w", binary, out, err)
	}
	return nil
}

// modules writes the list of all modules in the binary, and compares it with what the binary says.
func (o options) modules(ctx context.Context, name, binary string) error {
	return complete(filepath.Join(o.out, name), func(partial string) error {
		//nolint:gosec // our own arguments
		tool := exec.CommandContext(ctx, "go", "run", sbomTool, "bin", "-json", "-noserial", "-notimestamp",
			"-version", "v"+o.version, "-output", partial, binary)
		tool.Stderr = os.Stderr
		tool.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if err := tool.Run(); err != nil {
			return fmt.Errorf("list the modules: %w", err)
		}
		text, err := os.ReadFile(partial) //nolint:gosec // just made
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			return err
		}
		var deps []string
		for _, d := range info.Deps {
			deps = append(deps, d.Path+"@"+d.Version)
		}
		return unlisted(text, deps)
	})
}

// unlisted returns an error if the list of modules lacks one of the dependencies.
func unlisted(sbom []byte, deps []string) error {
	var list struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(sbom, &list); err != nil {
		return fmt.Errorf("the list of modules: %w", err)
	}
	listed := map[string]bool{}
	for _, c := range list.Components {
		listed[c.Name+"@"+c.Version] = true
	}
	for _, d := range deps {
		if !listed[d] {
			return fmt.Errorf("the list of modules lacks %s", d)
		}
	}
	return nil
}
