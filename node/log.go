package node

import (
	"io"
	"log/slog"
	"os"

	"github.com/divandb/divan/node/config"
)

// NewLogger returns a logger that writes to w: text if w is a terminal, otherwise one JSON object per line.
func NewLogger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // config.Load has checked the level
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "text" || (c.Format == "auto" && isTerminal(w)) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
