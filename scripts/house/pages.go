package house

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// pageLink is a link of Markdown, inline or as a reference.
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)`)
	pageHeading = regexp.MustCompile(`^#+ +(.*)$`)
	codeSpan    = regexp.MustCompile("`[^`]*`")
)

// Links returns a sentence for each relative link in Markdown that leads to no file, or to no heading of it.
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
			faults = append(faults, fmt.Sprintf("%s:%d links to %s, which is not there", p.Name, n, link))
			return
		}
		if known, page := headings[target]; page && anchor != "" && !slices.Contains(known, anchor) {
			faults = append(faults, fmt.Sprintf("%s:%d links to %s, where no heading is %q", p.Name, n, link, anchor))
		}
	})
	return faults
}

// Unlinked returns a sentence for each page in docs that no other page and no comment names, and for each one that no
// package comment names. comments are those of packages.
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
			faults = append(faults, p.Name+" is linked from nowhere")
		case !slices.ContainsFunc(comments, func(c string) bool { return strings.Contains(c, p.Name) }):
			faults = append(faults, p.Name+" is not named by the comment of the package that it explains")
		}
	}
	return faults
}

// maxWidth is how many characters a line of Markdown has at most.
const maxWidth = 120

// Wide returns a sentence for each line of text in Markdown that is too long. Blocks of code and rows of tables, which
// cannot be wrapped, are left out.
func Wide(prose []Prose) (faults []string) {
	for i := range prose {
		p := &prose[i]
		if path.Ext(p.Name) != ".md" {
			continue
		}
		eachText(p, func(l Line) {
			if n := utf8.RuneCountInString(l.Text); n > maxWidth && !strings.HasPrefix(l.Text, "|") {
				faults = append(faults,
					fmt.Sprintf("%s:%d has %d characters: wrap it at %d", p.Name, l.Number, n, maxWidth))
			}
		})
	}
	return faults
}

// eachLink calls visit for each relative link in Markdown, but not for what stands in code.
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

// eachText visits the lines of a page that are not in a block of code.
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

// anchors are the names that GitHub gives a page's headings.
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
