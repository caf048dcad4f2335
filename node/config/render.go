package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	commentColumn = 32
	lineWidth     = 120
)

// yamlHead begins node.yaml. The flags follow.
const yamlHead = "Divan's settings. All values here are the built-in defaults, so this file may be empty or missing."

// yamlSources says where else settings come from.
const yamlSources = "Each setting can also be given as an environment variable: storage.engine is " +
	"DIVAN_STORAGE_ENGINE. With _FILE after its name, a variable names a file with a secret, password or token. " +
	"%s have a flag and a short variable: %s. Flags take precedence over the environment, and the environment over " +
	"this file. `divan check` validates all of them."

const yamlUnits = "Sizes are 8000000, 8MB (millions) or 64MiB; durations are 30s, 10m or 1h30m."

// YAML returns the commented defaults, which are node.yaml in the repository root.
func YAML() string {
	var b strings.Builder
	paragraph := func(text string) {
		for _, line := range wrap(text, lineWidth-2) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
	}
	paragraph(yamlHead)
	b.WriteString("#\n")
	paragraph(fmt.Sprintf(yamlSources, numberOfFlags(), strings.Join(flagList(), ", ")))
	b.WriteString("#\n")
	paragraph(yamlUnits)
	b.WriteString("\n")
	for i, r := range rows {
		top := !strings.Contains(r.path, ".")
		if i > 0 && top && (r.def == "" || r.before != nil) {
			b.WriteString("\n")
		}
		for _, line := range r.before {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		b.WriteString(r.yaml())
		for _, line := range r.example {
			fmt.Fprintf(&b, "#%s\n", line)
		}
	}
	return b.String()
}

// yaml returns the lines of a row: the setting, and its comment at a fixed column.
func (r row) yaml() string {
	line := strings.Repeat("  ", strings.Count(r.path, ".")) + r.path[strings.LastIndexByte(r.path, '.')+1:] + ":"
	if r.def != "" {
		line += " " + r.def
	}
	if r.text == "" {
		return line + "\n"
	}
	column := max(commentColumn, len(line)+1)
	var b strings.Builder
	for _, text := range wrap(r.text, lineWidth-column-2) {
		fmt.Fprintf(&b, "%-*s# %s\n", column, line, text)
		line = ""
	}
	return b.String()
}

// flagList lists the flags with their variables: "-config [DIVAN_CONFIG]".
func flagList() []string {
	var list []string
	for _, f := range allFlags() {
		name := "-" + f.name
		if f.name == "admin" {
			name += " USER:PASSWORD"
		}
		list = append(list, fmt.Sprintf("%s [%s]", name, f.env()))
	}
	return list
}

func numberOfFlags() string {
	words := []string{"No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten"}
	if n := len(flagList()); n < len(words) {
		return words[n]
	}
	return "Some"
}

// wrap divides text into lines of at most width characters, between words.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
