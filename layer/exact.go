package layer

import (
	"encoding/json"
	"reflect"
	"strings"
)

// encoding/json takes "ROLES" for a field tagged "roles". CouchDB, and whoever wrote the document, do not: a validation function that one reader sees and another
// does not is an open door. So what decides about access is read by these.

// exactMembers finds members of a JSON object by their decoded names, nil those that are absent; of the same name twice the last one counts.
func exactMembers(object []byte, names ...string) ([][]byte, error) {
	values := make([][]byte, len(names))
	_, _, _, err := scanMembers(object, func(m jsonMember) {
		name := object[m.key+1 : m.keyEnd-1]
		if m.escaped {
			s, _ := unquote(object[m.key:m.keyEnd])
			name = []byte(s)
		}
		for i := range names {
			if string(name) == names[i] {
				values[i] = object[m.value:m.end]
			}
		}
	})
	return values, err
}

// UnmarshalExact is json.Unmarshal into a struct whose fields have tags, by the exact names of members. Other members cost nothing.
func UnmarshalExact(object []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	names := make([]string, v.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
	}
	values, err := exactMembers(object, names...)
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
