package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fieldByTag returns the field of struct v whose name in node.yaml is key.
func fieldByTag(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag == key && tag != "-" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// Paths returns every setting, such as "storage.engine", in the order of Config.
func Paths() []string {
	var paths []string
	walk(reflect.ValueOf(Default()).Elem(), "", func(path string, _ reflect.Value) {
		paths = append(paths, path)
	})
	return paths
}

// walk calls f for every field of v, and of the structs in it, that is not itself a struct.
func walk(v reflect.Value, path string, f func(path string, field reflect.Value)) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		if tag == "-" {
			continue
		}
		sub, field := joinPath(path, tag), v.Field(i)
		if field.Kind() == reflect.Struct {
			walk(field, sub, f)
			continue
		}
		f(sub, field)
	}
}

// suggestion returns a hint for an unknown key: the most similar name at the same place, or the path at which the name
// exists.
func suggestion(v reflect.Value, path, key string) string {
	best, distance := "", 3 // more than two edits is not a typo
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		if d := editDistance(tag, key); tag != "-" && d < distance {
			best, distance = joinPath(path, tag), d
		}
	}
	if best == "" {
		for _, p := range Paths() {
			if strings.HasSuffix(p, "."+key) {
				best = p
				break
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// editDistance returns the Levenshtein distance, computed one row at a time.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], slices.Min([]int{row[j+1] + 1, row[j] + 1, diagonal + cost})
		}
	}
	return row[len(b)]
}
