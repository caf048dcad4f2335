package house

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ClausesPage is the page with the clauses that comments cite.
const ClausesPage = "docs/clauses.md"

var (
	// citedClause matches a clause in a comment: a group and a number, "R3".
	citedClause = regexp.MustCompile(`\b[RCPVNQMTS](?:1[0-9]|[1-9])\b`)
	// clauseHeading matches the beginning of a clause in ClausesPage.
	clauseHeading = regexp.MustCompile(`^\*\*([A-Z][0-9]+)\*\* `)
	citedDesign   = regexp.MustCompile(`\brfc-[0-9a-z]+\b`)
	// designLink matches the public address of a design document in ClausesPage.
	designLink   = regexp.MustCompile(`^\[(rfc-[0-9a-z]+)\]: https://`)
	citedTest    = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	declaredTest = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	// citedPage matches the name of a Markdown page, citedPrivate the names of documents that are not public.
	citedPage = regexp.MustCompile(`[\w./:@-]+\.md\b`)
	// citedFile matches the name of a file in one of the rooms.
	citedFile = regexp.MustCompile(`(?:^|[^\w./-])((?:` + strings.Join(Rooms, "|") +
		`)(?:/[\w.-]+)+\.(?:go|txt|js|html))\b`)
	citedPrivate = regexp.MustCompile(
		`\b(?:MISSION|CONTRACT|FIELD-NOTES|[Tt]he mission)\b|\bshared/[A-Z]|\b[Ii]ssue [0-9]+\b`)
)

// elsewhere lists pages of other projects that comments refer to, and the projects.
var elsewhere = map[string]string{
	"design/tuple.md": "apple/foundationdb",
}

// Citations returns a sentence for each clause and each design document that the prose cites but ClausesPage lacks.
func Citations(prose []Prose, clauses string) []string {
	known := map[string]bool{}
	for line := range strings.Lines(clauses) {
		for _, found := range [][]string{clauseHeading.FindStringSubmatch(line), designLink.FindStringSubmatch(line)} {
			if found != nil {
				known[found[1]] = true
			}
		}
	}
	return eachLine(prose, func(_ string, line string) (faults []string) {
		for _, cited := range slices.Concat(citedClause.FindAllString(line, -1), citedDesign.FindAllString(line, -1)) {
			if !known[cited] {
				faults = append(faults, "cites "+cited+", which "+ClausesPage+" does not have")
			}
		}
		return faults
	})
}

// Tests returns a sentence for each test that ClausesPage names but no file declares.
func Tests(root string, files []File, clauses string) ([]string, error) {
	missing := map[string]bool{}
	for _, found := range citedTest.FindAllStringSubmatch(clauses, -1) {
		missing[found[1]] = true
	}
	for _, f := range files {
		if !f.Test() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f.Name))
		if err != nil {
			return nil, fmt.Errorf("house: %w", err)
		}
		for _, found := range declaredTest.FindAllStringSubmatch(string(text), -1) {
			delete(missing, found[1])
		}
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		faults = append(faults, ClausesPage+" names "+name+", which no file declares")
	}
	return faults, nil
}

// Documents returns a sentence for each document, and each file in one of the rooms, that the prose refers to but that
// does not exist. A page is named relative to the root or to the folder of the file that names it.
func Documents(root string, prose []Prose) []string {
	return eachLine(prose, func(name, line string) (faults []string) {
		for _, cited := range citedPage.FindAllString(line, -1) {
			if strings.Contains(cited, "://") || elsewhere[cited] != "" && strings.Contains(line, elsewhere[cited]) {
				continue
			}
			if !exists(root, cited) && !exists(root, path.Join(path.Dir(name), cited)) {
				faults = append(faults, "refers to "+cited+", which does not exist")
			}
		}
		for _, cited := range citedFile.FindAllStringSubmatch(line, -1) {
			if !exists(root, cited[1]) {
				faults = append(faults, "refers to "+cited[1]+", which does not exist")
			}
		}
		for _, cited := range citedPrivate.FindAllString(line, -1) {
			faults = append(faults, "refers to "+cited+", which is not in the repository; refer to docs/")
		}
		return faults
	})
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// eachLine collects the faults of all lines, each with its position.
func eachLine(prose []Prose, check func(name, line string) []string) (faults []string) {
	for _, p := range prose {
		for _, line := range p.Lines {
			for _, fault := range check(p.Name, line.Text) {
				faults = append(faults, fmt.Sprintf("%s:%d %s", p.Name, line.Number, fault))
			}
		}
	}
	return faults
}

// citedMetric matches the name of a metric, or a common prefix of several.
var citedMetric = regexp.MustCompile(`\bdivan_[a-z_]+`)

// Metrics returns a sentence for each metric that Markdown names but no code has.
func Metrics(root string, files []File, prose []Prose) ([]string, error) {
	var code strings.Builder
	for _, f := range files {
		if f.Test() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f.Name))
		if err != nil {
			return nil, fmt.Errorf("house: %w", err)
		}
		code.Write(text)
	}
	all := code.String()
	pages := slices.DeleteFunc(slices.Clone(prose), func(p Prose) bool { return path.Ext(p.Name) != ".md" })
	return eachLine(pages, func(_, line string) (faults []string) {
		for _, cited := range citedMetric.FindAllString(line, -1) {
			if !strings.Contains(all, `"`+cited) {
				faults = append(faults, "names the metric "+cited+", which no code has")
			}
		}
		return faults
	}), nil
}
