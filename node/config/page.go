package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/divandb/divan/node/couchopts"
)

// pageHead begins docs/settings.md, in paragraphs. ' stands for the quotes of code.
var pageHead = []string{
	"Settings come from, in this order: flags, environment variables, 'node.yaml' (in the working directory, or the " +
		"file that '-config' names), and the defaults. The variable of a setting is 'DIVAN_' and its name in " +
		"capitals, with underscores for dots: 'DIVAN_STORAGE_ENGINE' sets 'storage.engine'. Lists are separated by " +
		"commas there.",
	"Secrets, passwords and tokens can be in a file, which the variable with '_FILE' after its name names, such as " +
		"'DIVAN_CLUSTER_SECRET_FILE' and 'DIVAN_ADMIN_FILE'. The line break at the end of the file does not count. " +
		"So they need not be in 'node.yaml', in the environment or in the list of processes. A start and " +
		"'divan check' warn if everyone on the machine can read such a file, unless the runtime of a container has " +
		"put it below '/run/secrets'.",
	"A variable whose name begins with 'DIVAN_' and resembles that of a setting, or begins as those of a section do, " +
		"such as 'DIVAN_HTTP_', is refused as a misspelt one, like an unknown name in 'node.yaml'. Any other one is " +
		"ignored, with a warning. What Kubernetes and Docker set for a service named 'divan', such as " +
		"'DIVAN_SERVICE_HOST' and 'DIVAN_PORT_5984_TCP', is ignored without one.",
	"'divan check' reads the settings as a node would, and reports everything that is wrong with them, each with its " +
		"line. 'divan help settings' prints a 'node.yaml' with all defaults and comments. Sizes are '8000000', '8MB' " +
		"(millions) or '64MiB'; durations are '30s', '10m' or '1h30m'.",
}

const couchHead = "Clients read and change these with '/_node/{name}/_config', as with CouchDB. A change holds on " +
	"all nodes at once and after a restart; it overrides 'node.yaml' until it is deleted. The node of that name " +
	"answers: what its own 'node.yaml' sets may differ from that of others. Values of secrets are stored and never " +
	"shown. Options that set-up scripts set although they have no effect here are accepted, and say so below. " +
	"Every other option is refused with 404. 'admins' is the section of server admins."

const (
	pageTitle = "# Settings\n\n" +
		"<!-- Made from the table in node/config: go test ./node/config -run TestPages -update -->\n"
	flagHead = "\n## Flags\n\n| flag | variable | setting | |\n|---|---|---|---|\n"
	rowHead  = "\n| setting | type | default | values | |\n|---|---|---|---|---|\n"
)

// Markdown returns docs/settings.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(pageTitle)
	for _, text := range pageHead {
		pageParagraph(&b, strings.ReplaceAll(text, "'", "`"))
	}
	b.WriteString(flagHead)
	paths, _ := rowFlags()
	for _, f := range allFlags() {
		setting := ""
		if path := paths[f.name]; path != "" {
			setting = "`" + path + "`"
		}
		fmt.Fprintf(&b, "| `-%s` | `%s` | %s | %s |\n", f.name, f.env(), setting, cell(f.usage))
	}
	types := map[string]string{}
	walk(reflect.ValueOf(&Config{}).Elem(), "", func(path string, field reflect.Value) {
		types[path] = typeName(field)
	})
	for _, r := range rows {
		r.markdown(&b, types[r.path])
	}
	couchMarkdown(&b)
	return b.String()
}

// couchMarkdown writes the table of CouchDB's options.
func couchMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## CouchDB's options\n")
	pageParagraph(b, strings.ReplaceAll(couchHead, "'", "`"))
	b.WriteString("\n| option | default | first value from | |\n|---|---|---|---|\n")
	for _, o := range couchopts.All {
		def, from, text := "", "", o.Text
		if o.Default != "" {
			def = "`" + o.Default + "`"
		}
		if o.Setting != "" {
			from = "`" + o.Setting + "`"
		}
		switch {
		case o.Ignored:
			text = strings.TrimSuffix("has no effect; "+text, "; ")
		case o.Given:
			text = strings.TrimSuffix("can only be that; "+text, "; ")
		}
		if o.Fixed {
			text = strings.TrimSuffix("cannot be changed at run time; "+text, "; ")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", o.Name(), def, from, cell(text))
	}
}

// markdown writes a line of a table, and before it the heading of a section that the row begins.
func (r row) markdown(b *strings.Builder, typ string) {
	top := !strings.Contains(r.path, ".")
	if top && (typ == "" || r.before != nil || r.path == "name") {
		title, text := r.path, strings.Join(r.before, " ")
		if r.path == "name" {
			title = "name and data"
		}
		if typ == "" && r.text != "" {
			text = strings.ToUpper(r.text[:1]) + r.text[1:] + "."
		}
		fmt.Fprintf(b, "\n## %s\n", title)
		if text != "" {
			pageParagraph(b, text)
		}
		b.WriteString(rowHead)
	}
	switch {
	case typ != "":
		values := ""
		if r.allowed != nil {
			values = r.allowed.String()
		}
		fmt.Fprintf(b, "| `%s` | %s | `%s` | %s | %s |\n", r.path, typ, r.def, values, cell(r.text))
	case !top && r.text != "":
		fmt.Fprintf(b, "| `%s` | | | | %s |\n", r.path, cell(r.text))
	}
}

func pageParagraph(b *strings.Builder, text string) {
	fmt.Fprintf(b, "\n%s\n", strings.Join(wrap(text, lineWidth), "\n"))
}

// cell escapes text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "`", "", "<", "&lt;", "*", "\\*").Replace(text)
}

func typeName(field reflect.Value) string {
	switch field.Type() {
	case sizeType:
		return "size"
	case durationType:
		return "duration"
	}
	switch field.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "names with texts"
	default:
		return "text"
	}
}
