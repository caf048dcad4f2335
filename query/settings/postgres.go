package settings

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/quantities"
)

// postgresSettings lists settings of PostgreSQL that have no effect here. Clients set some of them routinely, and read
// others.
//
//go:embed postgres_settings.txt
var postgresSettings string

// harmless maps the names to postgresSettings.
var harmless = func() map[string]*setting {
	out := map[string]*setting{}
	for _, line := range strings.Split(strings.TrimSpace(postgresSettings), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := append(strings.Split(line, "|"), "", "", "", "")
		s := &setting{name: f[0], value: f[2], kind: &kind{vartype: f[1], unit: f[4], context: f[5]}}
		s.fixed = s.kind.context != "" && s.kind.context != "superuser"
		switch f[1] {
		case "bool":
			s.check = quantities.Switch(f[0])
		case "text":
			s.check = quantities.Word(f[0])
		case "enum":
			s.kind.values = strings.Split(f[3], ",")
			s.check = quantities.OneOf(s.kind.values...)
		case "int", "real":
			lowest, highest, _ := strings.Cut(f[3], "..")
			s.kind.low, s.kind.high = lowest, highest
			low, _ := strconv.ParseFloat(lowest, 64)
			high, _ := strconv.ParseFloat(highest, 64)
			s.check = quantities.Quantity{Name: f[0], Low: low, High: high, Unit: f[4], Whole: f[1] == "int"}.Check
		}
		out[s.name] = s
	}
	return out
}()
