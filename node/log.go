package node

import (
	"io"
	"log/slog"
	"os"

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
	return slog.New(leveled{slog.NewJSONHandler(w, options), level})
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
