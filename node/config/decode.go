package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// settings writes values from any source into a Config and remembers where each came from. It collects faults instead
// of stopping at the first.
type settings struct {
	cfg     *Config
	origins map[string]origin // by path; settings that are absent have their defaults
	faults  Faults
}

func newSettings() *settings {
	return &settings{cfg: Default(), origins: map[string]origin{}}
}

func (s *settings) fault(at origin, path, format string, args ...any) {
	s.faults = append(s.faults, fault{at, path, fmt.Sprintf(format, args...)})
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
)

// readYAML reads one document. It reads nodes instead of using yaml.Unmarshal, which stops at the first unknown key,
// accepts 5 for "5", and drops line numbers.
func (s *settings) readYAML(file string, text []byte) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) { // empty, or only comments
		return
	} else if err != nil {
		line, msg := yamlErrorLine(err)
		s.fault(origin{file: file, line: line}, "", "%s", msg)
		return
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		s.fault(origin{file: file, line: second.Line}, "", "holds more than one YAML document")
	}
	s.mapping(file, doc.Content[0], reflect.ValueOf(s.cfg).Elem(), "")
}

// yamlErrorLine splits "yaml: line 3: did not find...".
func yamlErrorLine(err error) (line int, msg string) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if num, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(num); err == nil {
				return n, text
			}
		}
	}
	return 0, msg
}

// mapping reads a YAML mapping into a struct.
func (s *settings) mapping(file string, node *yaml.Node, v reflect.Value, path string) {
	node = resolved(node)
	at := origin{file: file, line: node.Line}
	if node.Tag == "!!null" { // "http:" with all of its settings commented out
		return
	}
	if node.Kind != yaml.MappingNode {
		s.fault(at, path, "expected settings by name, got %s", describe(node))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolved(node.Content[i+1])
		at := origin{file: file, line: key.Line}
		sub := joinPath(path, key.Value)
		if first, ok := seen[key.Value]; ok {
			s.fault(at, sub, "is set twice, first on line %d", first)
			continue
		}
		seen[key.Value] = key.Line
		field, ok := fieldByTag(v, key.Value)
		if !ok {
			s.fault(at, "", "unknown setting %s%s", sub, suggestion(v, path, key.Value))
			continue
		}
		if field.Kind() == reflect.Struct {
			s.mapping(file, value, field, sub)
			continue
		}
		s.origins[sub] = at
		if err := setFromYAML(field, value); err != nil {
			s.fault(at, sub, "%v", err)
		}
	}
}

func setFromYAML(field reflect.Value, node *yaml.Node) error {
	if node.Tag == "!!null" {
		return nil // "key:" without a value keeps the default
	}
	switch field.Type() {
	case sizeType:
		if node.Tag != "!!int" && node.Tag != "!!str" {
			return fmt.Errorf("expected a size such as 64MiB, got %s", describe(node))
		}
		return setFromText(field, node.Value)
	case durationType:
		if node.Tag != "!!str" {
			return fmt.Errorf("expected a duration such as 30s or 10m, got %s", describe(node))
		}
		return setFromText(field, node.Value)
	}
	var want, called string
	switch field.Kind() {
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			return fmt.Errorf("expected a list of strings, got %s", describe(node))
		}
		list := make([]string, 0, len(node.Content))
		for _, n := range node.Content {
			n = resolved(n)
			if n.Tag != "!!str" {
				return fmt.Errorf("expected a list of strings, got %s in it", describe(n))
			}
			list = append(list, n.Value)
		}
		field.Set(reflect.ValueOf(list))
		return nil
	case reflect.Map:
		return setMapFromYAML(field, node)
	case reflect.String:
		want, called = "!!str", "a string (in quotes if it looks like something else)"
	case reflect.Bool:
		want, called = "!!bool", "true or false"
	case reflect.Int:
		want, called = "!!int", "a whole number"
	}
	if node.Tag != want {
		return fmt.Errorf("expected %s, got %s", called, describe(node))
	}
	return setFromText(field, node.Value)
}

func setMapFromYAML(field reflect.Value, node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("expected names with strings, got %s", describe(node))
	}
	m := make(map[string]string, len(node.Content)/2)
	var errs []error
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := resolved(node.Content[i]), resolved(node.Content[i+1])
		switch _, twice := m[key.Value]; {
		case twice:
			errs = append(errs, fmt.Errorf("%q is set twice (line %d)", key.Value, key.Line))
		case value.Tag != "!!str":
			errs = append(errs, fmt.Errorf("%q: expected a string, got %s (line %d)", key.Value, describe(value),
				key.Line))
		default:
			m[key.Value] = value.Value
		}
	}
	field.Set(reflect.ValueOf(m))
	return errors.Join(errs...)
}

// setFromText sets a field from a flag or a variable. Lists are separated by commas. Maps have no text form.
func setFromText(field reflect.Value, text string) error {
	switch field.Type() {
	case sizeType:
		n, err := parseSize(text)
		if err == nil {
			field.SetInt(int64(n))
		}
		return err
	case durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration; write 30s, 10m or 1h30m", text)
		}
		field.SetInt(int64(d))
		return nil
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		field.SetBool(b)
	case reflect.Int:
		n, err := strconv.ParseInt(text, 0, 0)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		field.SetInt(n)
	case reflect.Slice:
		var list []string
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		field.Set(reflect.ValueOf(list))
	default:
		return errors.New("can only be set in node.yaml")
	}
	return nil
}

func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch node.Tag {
	case "!!str":
		return fmt.Sprintf("the string %q", node.Value)
	case "!!null":
		return "nothing"
	}
	return node.Value
}
