package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// pageLink matches a link in Markdown, inline or as a reference.
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)`)
	pageHeading = regexp.MustCompile(`^#+ +(.*)$`)
	codeSpan    = regexp.MustCompile("`[^`]*`")
)

// Links returns a sentence for each relative link in Markdown to a file or heading that does not exist.
func Links(root string, prose []Prose) []string {
	headings := map[string][]string{}
	for _, p := range prose {
		if path.Ext(p.Name) == ".md" {
			headings[p.Name] = anchors(p)
		}
	}
	var faults []string
	eachLink(prose, func(p *Prose, n int, link string) {
		file, anchor, _ := strings.Cut(link, "#")
		target := p.Name
		if file != "" {
			target = path.Join(path.Dir(p.Name), file)
		}
		if !exists(root, target) {
			faults = append(faults, fmt.Sprintf("%s:%d links to %s, which does not exist", p.Name, n, link))
			return
		}
		if known, page := headings[target]; page && anchor != "" && !slices.Contains(known, anchor) {
			faults = append(faults, fmt.Sprintf("%s:%d links to %s, which has no heading %q", p.Name, n, link, anchor))
		}
	})
	return faults
}

// Unlinked returns a sentence for each page in docs that no other page and no comment refers to, and for each design
// page that no package comment refers to.
func Unlinked(prose []Prose, comments []string) []string {
	named := map[string]bool{}
	eachLink(prose, func(p *Prose, _ int, link string) {
		file, _, _ := strings.Cut(link, "#")
		if target := path.Join(path.Dir(p.Name), file); target != p.Name {
			named[target] = true
		}
	})
	eachLine(prose, func(name, line string) []string {
		for _, cited := range citedPage.FindAllString(line, -1) {
			if cited != name {
				named[cited] = true
			}
		}
		return nil
	})
	var faults []string
	for _, p := range prose {
		switch {
		case !strings.HasPrefix(p.Name, "docs/"):
		case !named[p.Name]:
			faults = append(faults, p.Name+" is not linked from anywhere")
		case !slices.ContainsFunc(comments, func(c string) bool { return strings.Contains(c, p.Name) }):
			faults = append(faults, p.Name+" is not mentioned in the comment of the package that it explains")
		}
	}
	return faults
}

// maxWidth is the maximum number of characters in a line. The linter checks lines of Go.
const maxWidth = 120

// Wide returns a sentence for each line of Markdown that is too long, except code blocks and table rows, which cannot
// be wrapped.
func Wide(prose []Prose) (faults []string) {
	for i := range prose {
		p := &prose[i]
		if path.Ext(p.Name) != ".md" {
			continue
		}
		eachText(p, func(l Line) {
			if !strings.HasPrefix(l.Text, "|") {
				faults = append(faults, tooWide(p.Name, l)...)
			}
		})
	}
	return faults
}

// WideScripts returns a sentence for each line of a shell script or of the settings below root that is too long.
func WideScripts(root string) (faults []string, err error) {
	for _, pattern := range []string{"scripts/*", ".ci/*", "*.yaml"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return nil, err
			}
			for _, l := range allLines(string(text)) {
				faults = append(faults, tooWide(filepath.ToSlash(rel), l)...)
			}
		}
	}
	return faults, nil
}

func tooWide(name string, l Line) []string {
	n := utf8.RuneCountInString(l.Text)
	if n <= maxWidth {
		return nil
	}
	return []string{fmt.Sprintf("%s:%d has %d characters: wrap it at %d", name, l.Number, n, maxWidth)}
}

// eachLink calls visit for each relative link in Markdown outside of code.
func eachLink(prose []Prose, visit func(p *Prose, line int, link string)) {
	for i := range prose {
		p := &prose[i]
		if path.Ext(p.Name) != ".md" {
			continue
		}
		eachText(p, func(l Line) {
			for _, found := range pageLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(l.Text, ""), -1) {
				if link := found[1] + found[2]; !strings.Contains(link, ":") {
					visit(p, l.Number, link)
				}
			}
		})
	}
}

// eachText calls visit for the lines of a page that are not in a code block.
func eachText(p *Prose, visit func(Line)) {
	code := false
	for _, l := range p.Lines {
		if strings.HasPrefix(strings.TrimSpace(l.Text), "```") {
			code = !code
		} else if !code {
			visit(l)
		}
	}
}

// anchors returns the anchors that GitHub gives a page's headings.
func anchors(p Prose) (names []string) {
	eachText(&p, func(l Line) {
		if found := pageHeading.FindStringSubmatch(l.Text); found != nil {
			names = append(names, anchor(found[1]))
		}
	})
	return names
}

func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
