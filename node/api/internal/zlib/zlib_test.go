package zlib_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/divandb/divan/node/api/internal/zlib"
)

// deflated compresses data that comes in pieces of a size.
func deflated(t *testing.T, level, piece int, data []byte) []byte {
	t.Helper()
	d, err := zlib.New(level)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var out []byte
	for len(data) > piece {
		out, data = d.Append(out, data[:piece], false), data[piece:]
	}
	out = d.Append(out, data, true)
	d.Close()
	return out
}

// texts are inputs of all kinds: empty, repetitive, random, and larger than zlib's window and blocks.
func texts() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	list := [][]byte{nil, []byte("x"), []byte("This is a base64 encoded text"), bytes.Repeat([]byte("ab"), 100_000)}
	for i := range 120 {
		size, letters := r.IntN(1<<(1+i%17)), 1+r.IntN(255)
		text := make([]byte, 0, size)
		for len(text) < size {
			if n := r.IntN(300); r.IntN(3) == 0 && len(text) > n {
				at := r.IntN(len(text) - n)
				text = append(text, text[at:at+n]...)
				continue
			}
			text = append(text, byte(r.IntN(letters)))
		}
		list = append(list, text)
	}
	return list
}

// The same bytes as zlib, as Python uses it.
func TestDeflater_zlib(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("DIVAN_TEST_ALL") != "" {
			t.Fatal("python3 is not installed")
		}
		t.Skip("python3 is not installed; it has the zlib to compare with")
	}
	const program = `
import struct, sys, zlib
i, o = sys.stdin.buffer, sys.stdout.buffer
while head := i.read(8):
    level, size = struct.unpack("<II", head)
    c = zlib.compressobj(level, zlib.DEFLATED, 31)
    out = c.compress(i.read(size)) + c.flush()
    o.write(struct.pack("<I", len(out)) + out)
    o.flush()
`
	cmd := exec.CommandContext(t.Context(), python, "-c", program)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	for i, text := range texts() {
		level := 1 + (i+7)%9 // 8 first
		head := binary.LittleEndian.AppendUint32(nil, uint32(level))
		head = binary.LittleEndian.AppendUint32(head, uint32(len(text)))
		if _, err := in.Write(append(head, text...)); err != nil {
			t.Fatal(err)
		}
		var size uint32
		if err := binary.Read(out, binary.LittleEndian, &size); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, size)
		if _, err := io.ReadFull(out, want); err != nil {
			t.Fatal(err)
		}
		for _, piece := range []int{1 << 20, 1000} {
			if got := deflated(t, level, piece, text); !bytes.Equal(got, want) {
				t.Errorf("text %d of %d bytes, level %d, in pieces of %d: %d bytes differ from zlib's %d", i, len(text), level,
					piece, len(got), len(want))
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// What is compressed can be read.
func TestDeflater_readable(t *testing.T) {
	for i, text := range texts() {
		r, err := gzip.NewReader(bytes.NewReader(deflated(t, 1+i%9, 4096, text)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
			t.Errorf("text %d: %d bytes of %d, %v", i, len(got), len(text), err)
		}
	}
}
