package embedded

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// cutLogs finds the logs that are damaged, and where each stops to be right.
func cutLogs(files vfs.FS, dir string, log *slog.Logger) (map[string]int64, error) {
	names, err := files.List(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	cuts := map[string]int64{}
	for _, name := range names {
		digits, isLog := strings.CutSuffix(name, ".log")
		number, err := strconv.ParseUint(digits, 10, 32)
		if !isLog || err != nil {
			continue
		}
		good, damaged, err := goodPart(files, files.PathJoin(dir, name), number)
		if err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
		if damaged {
			cuts[name] = good
			log.Warn("a log of the store is damaged; what was written after this place is left out", "log", name, "bytes", good)
		}
	}
	return cuts, nil
}

// newRecordReader calls open, whose type of numbers Pebble keeps to itself.
func newRecordReader[N ~uint64](open func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return open(r, N(number))
}

// goodPart is how much of a log can be read record by record.
func goodPart(files vfs.FS, path string, number uint64) (good int64, damaged bool, err error) {
	f, err := files.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := newRecordReader(record.NewReader, f, number)
	for {
		next, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, next)
		}
		switch {
		case errors.Is(err, io.EOF):
			return good, false, nil
		case isDenied(err):
			return 0, false, err
		case err != nil:
			return good, true, nil
		}
		good = r.Offset()
	}
}
