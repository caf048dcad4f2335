package node

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/divandb/divan/node/config"
)

// NewLogger returns a logger that writes to w: text if w is a terminal, otherwise one JSON object per line.
func NewLogger(w io.Writer, c config.Log) *slog.Logger {
	level := &slog.LevelVar{}
	_ = level.UnmarshalText([]byte(c.Level)) // config.Load has checked the level
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "text" || (c.Format == "auto" && isTerminal(w)) {
		return slog.New(leveled{slog.NewTextHandler(w, options), level})
	}
	return slog.New(leveled{slog.NewJSONHandler(escaping{w}, options), level})
}

// escaping writes JSON, in which it escapes what could move the cursor of a terminal or reorder its text, if somebody
// looks at the log there. Texts on a terminal are quoted.
type escaping struct{ w io.Writer }

// Write implements io.Writer.
func (e escaping) Write(line []byte) (int, error) {
	if bytes.IndexFunc(line, unprintable) < 0 {
		return e.w.Write(line)
	}
	var b []byte
	for _, r := range string(line) {
		switch {
		case !unprintable(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	if _, err := e.w.Write(b); err != nil {
		return 0, err
	}
	return len(line), nil
}

// unprintable reports whether a character of a line of JSON has no form of its own. Such a line ends in a line feed.
func unprintable(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// printable returns a text as it is, or quoted as in Go if it has characters without a form of their own.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// leveled is a handler whose level can be changed.
type leveled struct {
	slog.Handler
	level *slog.LevelVar
}

// WithAttrs implements slog.Handler.
func (h leveled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return leveled{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup implements slog.Handler.
func (h leveled) WithGroup(name string) slog.Handler {
	return leveled{h.Handler.WithGroup(name), h.level}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
