package parse

import (
	"slices"
	"strings"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// copyOption is an option of COPY with at most one kind of value: a text, * or a list.
type copyOption struct {
	name    string
	at      int
	value   *string
	star    bool
	columns []string
	integer bool // the value is an integer
}

// copyOption reads an option in parentheses: a name, and a value if there is one.
func (p *parser) copyOption() (copyOption, error) {
	t := p.take()
	if !t.Label() {
		return copyOption{}, p.unexpectedAt(t)
	}
	o := copyOption{name: t.Text, at: t.Off}
	v := p.peek()
	switch {
	case v.Op("*"):
		p.take()
		o.star = true
	case v.Is("("):
		return o, p.inBrackets(func() error {
			return p.list(func() error {
				v := p.take()
				if !isCopyWord(v) {
					return p.unexpectedAt(v)
				}
				o.columns = append(o.columns, v.Text)
				return nil
			})
		})
	case isCopyWord(v), v.Kind == lex.Integer, v.Kind == lex.Number, v.Op("-"), v.Op("+"):
		text, err := p.settingValue()
		o.value, o.integer = &text, v.Kind == lex.Integer
		return o, err
	}
	return o, nil
}

// isCopyWord reports whether t is PostgreSQL's opt_boolean_or_string.
func isCopyWord(t lex.Token) bool {
	return t.Kind == lex.String || t.Words("true", "false", "on") ||
		t.IsName(keyword.Unreserved, keyword.ColumnName, keyword.TypeFunctionName)
}

// oldCopyOptions adds options in the syntax before PostgreSQL 9.0, which has no parentheses.
func (p *parser) oldCopyOptions(options []copyOption) ([]copyOption, error) {
	for {
		t := p.peek()
		o := copyOption{name: t.Text, at: t.Off}
		var err error
		switch {
		case p.acceptWord("csv"), p.acceptWord("binary"):
			o.name, o.value = "format", &t.Text
		case p.acceptWord("header"), p.acceptWord("freeze"):
		case p.acceptWord("force"):
			err = p.forcedColumns(&o)
		case t.Words("delimiter", "null", "quote", "escape"):
			p.take()
			p.acceptWord("as")
			o.value, err = p.stringValue()
		case p.acceptWord("encoding"):
			o.value, err = p.stringValue()
		default:
			return options, nil
		}
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
}

// forcedColumns reads QUOTE * | QUOTE columns | NOT NULL columns | NULL columns.
func (p *parser) forcedColumns(o *copyOption) (err error) {
	switch {
	case p.acceptWord("quote"):
		o.name = "force_quote"
		if p.peek().Op("*") {
			p.take()
			o.star = true
			return nil
		}
	case p.acceptWords("not", "null"):
		o.name = "force_not_null"
	case p.acceptWord("null"):
		o.name = "force_null"
	default:
		return p.unexpected()
	}
	o.columns, err = p.names()
	return err
}

func (p *parser) stringValue() (*string, error) {
	t := p.take()
	if t.Kind != lex.String {
		return nil, p.unexpectedAt(t)
	}
	return &t.Text, nil
}

// text returns the value as a text.
func (o copyOption) text() (string, error) {
	switch {
	case o.value != nil:
		return *o.value, nil
	case o.star:
		return "*", nil
	case o.columns != nil:
		return strings.Join(o.columns, "."), nil
	}
	return "", sqlstate.New(sqlstate.SyntaxError, "%s requires a parameter", o.name).At(o.at)
}

// boolean returns the value as a Boolean value, which is true if there is none. wanted describes the valid ones.
func (o copyOption) boolean(wanted string) (bool, error) {
	if o.value == nil && !o.star && o.columns == nil {
		return true, nil
	}
	text, _ := o.text()
	switch text = strings.ToLower(text); {
	case o.integer && (text == "0" || text == "1"):
		return text == "1", nil
	case o.integer:
	case text == "true", text == "on":
		return true, nil
	case text == "false", text == "off":
		return false, nil
	}
	return false, sqlstate.New(sqlstate.SyntaxError, "%s requires a %s", o.name, wanted).At(o.at)
}

// list returns the value as a list of columns.
func (o copyOption) list() ([]string, error) {
	if o.columns == nil {
		return nil, sqlstate.New(sqlstate.InvalidParameterValue,
			`argument to option "%s" must be a list of column names`,
			o.name).At(o.at)
	}
	return o.columns, nil
}

// copyValues are the options of a COPY that are checked together, nil if they are not given.
type copyValues struct {
	delimiter, null, quote, escape *string
	notNull, forceNull             bool
}

// applyCopyOptions checks the options in PostgreSQL's order (ProcessCopyOptions in copy.c), and fills in the defaults
// of the format.
func applyCopyOptions(c *ast.Copy, options []copyOption) error {
	v := &copyValues{}
	for i, o := range options {
		if slices.ContainsFunc(options[:i], func(before copyOption) bool { return before.name == o.name }) {
			return lex.SyntaxError(o.at, "conflicting or redundant options")
		}
		if err := v.apply(c, o); err != nil {
			return err
		}
	}
	return v.check(c)
}

func (v *copyValues) apply(c *ast.Copy, o copyOption) (err error) {
	text := func(to **string) {
		var s string
		s, err = o.text()
		*to = &s
	}
	switch o.name {
	case "format":
		if c.Format, err = o.text(); err == nil && !slices.Contains([]string{"text", "csv", "binary"}, c.Format) {
			return sqlstate.New(sqlstate.InvalidParameterValue, `COPY format "%s" not recognized`, c.Format).At(o.at)
		}
	case "delimiter":
		text(&v.delimiter)
	case "null":
		text(&v.null)
	case "header":
		if o.value != nil && strings.EqualFold(*o.value, "match") {
			if c.From {
				c.HeaderMatch = true
				return nil
			}
			return sqlstate.New(sqlstate.FeatureNotSupported, `cannot use "match" with HEADER in COPY TO`).At(o.at)
		}
		c.Header, err = o.boolean(`Boolean value or "match"`)
	case "quote":
		text(&v.quote)
	case "escape":
		text(&v.escape)
	case "force_quote":
		c.ForceQuote = []string{"*"}
		if !o.star {
			c.ForceQuote, err = o.list()
		}
	case "force_not_null":
		v.notNull = true
		c.ForceNotNull, err = o.list()
	case "force_null":
		v.forceNull = true
		c.ForceNull, err = o.list()
	case "encoding":
		c.EncodingAt = ast.At(o.at)
		c.Encoding, err = o.text()
	case "freeze":
		_, err = o.boolean("Boolean value")
	default:
		return lex.SyntaxError(o.at, `option "%s" not recognized`, o.name)
	}
	return err
}

// check checks that the options go together, and fills in the defaults of the format.
func (v *copyValues) check(c *ast.Copy) error {
	csv := c.Format == "csv"
	if c.Format == "binary" {
		switch {
		case v.delimiter != nil:
			return sqlstate.New(sqlstate.SyntaxError, "cannot specify DELIMITER in BINARY mode")
		case v.null != nil:
			return sqlstate.New(sqlstate.SyntaxError, "cannot specify NULL in BINARY mode")
		}
	}
	c.Delimiter, c.Null, c.Quote = "\t", `\N`, `"`
	if csv {
		c.Delimiter, c.Null = ",", ""
	}
	given := func(to, from *string) {
		if from != nil {
			*to = *from
		}
	}
	given(&c.Delimiter, v.delimiter)
	given(&c.Null, v.null)
	given(&c.Quote, v.quote)
	c.Escape = c.Quote
	given(&c.Escape, v.escape)
	unsupported := func(message string) error { return sqlstate.New(sqlstate.FeatureNotSupported, "%s", message) }
	switch {
	case len(c.Delimiter) != 1:
		return unsupported("COPY delimiter must be a single one-byte character")
	case strings.ContainsAny(c.Delimiter, "\n\r"):
		return sqlstate.New(sqlstate.InvalidParameterValue, "COPY delimiter cannot be newline or carriage return")
	case strings.ContainsAny(c.Null, "\n\r"):
		return sqlstate.New(sqlstate.InvalidParameterValue,
			"COPY null representation cannot use newline or carriage return")
	case !csv && strings.Contains(`\.abcdefghijklmnopqrstuvwxyz0123456789`, c.Delimiter):
		return sqlstate.New(sqlstate.InvalidParameterValue, `COPY delimiter cannot be "%s"`, c.Delimiter)
	case c.Format == "binary" && c.Header:
		return unsupported("cannot specify HEADER in BINARY mode")
	case !csv && v.quote != nil:
		return unsupported("COPY quote available only in CSV mode")
	case csv && len(c.Quote) != 1:
		return unsupported("COPY quote must be a single one-byte character")
	case csv && c.Delimiter == c.Quote:
		return sqlstate.New(sqlstate.InvalidParameterValue, "COPY delimiter and quote must be different")
	case !csv && v.escape != nil:
		return unsupported("COPY escape available only in CSV mode")
	case csv && len(c.Escape) != 1:
		return unsupported("COPY escape must be a single one-byte character")
	}
	if err := v.checkForced(c); err != nil {
		return err
	}
	switch {
	case strings.Contains(c.Null, c.Delimiter):
		return unsupported("COPY delimiter must not appear in the NULL specification")
	case csv && strings.Contains(c.Null, c.Quote):
		return unsupported("CSV quote character must not appear in the NULL specification")
	}
	return nil
}

// checkForced checks the options that force quotes or NULL.
func (v *copyValues) checkForced(c *ast.Copy) error {
	for _, f := range []struct {
		name  string
		given bool
		from  bool // the direction that it is for
	}{
		{"quote", c.ForceQuote != nil, false}, {"not null", v.notNull, true}, {"null", v.forceNull, true},
	} {
		only := "TO"
		if f.from {
			only = "FROM"
		}
		switch {
		case f.given && c.Format != "csv":
			return sqlstate.New(sqlstate.FeatureNotSupported, "COPY force %s available only in CSV mode", f.name)
		case f.given && f.from != c.From:
			return sqlstate.New(sqlstate.FeatureNotSupported, "COPY force %s only available using COPY %s", f.name,
				only)
		}
	}
	return nil
}
