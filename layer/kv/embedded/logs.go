package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Where a log goes wrong, Pebble looks for later chunks that were written when the wrong place was on disk already: each chunk says how much of the log was
// synced before it. If there is one, what is wrong was damaged; if there is none, a crash tore it, and the log ends there. But Pebble looks from the next block
// on, while a store that is not busy writes thousands of commits into one. So the rest of the block itself is searched here.
//
// That the last chunk of all was damaged after it was synced, nobody can tell from a torn one.

// The format of Pebble's logs: blocks of chunks, of which the newest kind has a header of 19 bytes: checksum, length, kind, number of the log, and the offset up to
// which the log was synced.
const (
	logBlock       = 32 << 10
	logHeader      = 19
	firstChunkKind = 9
	lastChunkKind  = 12
)

// checkLogs returns an error where a log in dir is damaged within what was synced. It changes nothing.
func checkLogs(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	for _, name := range names {
		digits, isLog := strings.CutSuffix(name, ".log")
		number, err := strconv.ParseUint(digits, 10, 32)
		if !isLog || err != nil {
			continue
		}
		f, err := fs.Open(fs.PathJoin(dir, name))
		if err != nil {
			return fmt.Errorf("embedded: %w", err)
		}
		at, err := damagedAt(f, uint32(number))
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("embedded: read %s: %w", name, err)
		}
		if at >= 0 {
			return damaged(dir, fmt.Errorf("the log %s at %d, which was on disk before what follows it", name, at))
		}
	}
	return nil
}

// damagedAt is where a log was damaged within what was synced of it, as far as the same block tells; -1 for nowhere.
func damagedAt(r io.Reader, number uint32) (int64, error) {
	b := make([]byte, logBlock)
	for base := int64(0); ; base += logBlock {
		n, err := io.ReadFull(r, b)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return -1, err
		}
		at, wrong := firstWrong(b[:n], number)
		if !wrong {
			continue
		}
		for later := at + 1; later+logHeader <= n; later++ {
			if size := chunkSize(b[later:n], number); size > 0 && syncedBefore(b[later:]) > uint64(base)+uint64(at)+logHeader {
				return base + int64(at), nil
			}
		}
		return -1, nil // what comes in later blocks is for Pebble to see
	}
}

// firstWrong is where the first chunk of a block stands that is none of this kind and log; wrong is false where the block is full of them.
func firstWrong(block []byte, number uint32) (at int, wrong bool) {
	for at+logHeader <= len(block) {
		size := chunkSize(block[at:], number)
		if size == 0 {
			return at, true
		}
		at += size
	}
	return at, false
}

// chunkSize is the length of the chunk at the beginning of b, with its header; 0 where there is no good one.
func chunkSize(b []byte, number uint32) int {
	if kind := b[6]; kind < firstChunkKind || kind > lastChunkKind || binary.LittleEndian.Uint32(b[7:]) != number {
		return 0
	}
	size := logHeader + int(binary.LittleEndian.Uint16(b[4:]))
	if size > len(b) {
		return 0
	}
	sum := crc32.Checksum(b[6:size], castagnoli)
	if sum = sum>>15 | sum<<17; sum+0xa282ead8 != binary.LittleEndian.Uint32(b) { // masked, as LevelDB began to
		return 0
	}
	return size
}

// syncedBefore is how much of the log was on disk when the chunk was written.
func syncedBefore(chunk []byte) uint64 { return binary.LittleEndian.Uint64(chunk[11:]) }
