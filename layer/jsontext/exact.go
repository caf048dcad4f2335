package jsontext

import (
	"encoding/json"
	"reflect"
	"strings"
)

// encoding/json takes "ROLES" for a field tagged "roles". CouchDB, and whoever wrote the document, do not: a validation
// function that one reader sees and another does not is an open door. So what decides about access is read by these.

// ExactMembers finds members of a JSON object by their decoded names, nil those that are absent; of the same name twice
// the last one counts.
func ExactMembers(object []byte, names ...string) ([][]byte, error) {
	values := make([][]byte, len(names))
	_, _, _, err := ScanMembers(object, func(m JsonMember) {
		name := object[m.Key+1 : m.KeyEnd-1]
		if m.Escaped {
			s, _ := Unquote(object[m.Key:m.KeyEnd])
			name = []byte(s)
		}
		for i := range names {
			if string(name) == names[i] {
				values[i] = object[m.Value:m.End]
			}
		}
	})
	return values, err
}

// UnmarshalExact is json.Unmarshal into a struct whose fields have tags, by the exact names of members. Other members
// cost nothing.
func UnmarshalExact(object []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	names := make([]string, v.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
	}
	values, err := ExactMembers(object, names...)
	if err != nil {
		return err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		if err := json.Unmarshal(value, v.Field(i).Addr().Interface()); err != nil {
			return err
		}
	}
	return nil
}
