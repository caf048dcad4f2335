package layer_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// FuzzReadExport checks that no file makes the reader of exports panic or accept an invalid export.
func FuzzReadExport(f *testing.F) {
	d := fullDatabase(f, mustStore(f, mustEngine(f), layer.Options{}))
	var file bytes.Buffer
	if err := d.Export(f.Context(), &file, nil); err != nil {
		f.Fatal(err)
	}
	whole := file.Bytes()
	f.Add(whole[:4000])
	f.Add(whole[len(whole)-4000:])
	f.Add([]byte{})
	f.Add([]byte("divan export 1\n0" + strings.Repeat("\xf0", 9) + "0")) // a length that never ends
	f.Fuzz(func(t *testing.T, in []byte) {
		if x, err := layer.ReadExport(bytes.NewReader(in)); err == nil && !bytes.Equal(in, whole) {
			t.Fatalf("%d bytes are accepted as an export of %+v", len(in), x)
		} else if err != nil && !errors.Is(err, layer.ErrExport) {
			t.Fatalf("not reported as a damaged export: %v", err)
		}
	})
}

// FuzzExportRecord checks that no record makes the reader panic, even if its checksums are right.
func FuzzExportRecord(f *testing.F) {
	for _, kind := range []byte("hdablcpe") {
		f.Add(kind, []byte("\x02text\x00\x15\x01\x01bytes\x00"))
		f.Add(kind, []byte{0x15, 0xff, 0x05, 0x02, 'x', 0x00, 0x00})
	}
	f.Fuzz(func(_ *testing.T, kind byte, payload []byte) {
		_ = layer.CheckExportRecord(kind, payload) // whether it is valid does not matter here
	})
}

// FuzzParseSeq checks that a text that is accepted as a sequence is written as it was read, and sorts as its text does.
func FuzzParseSeq(f *testing.F) {
	f.Add("00000000054f5c2d0000000000", "15010000054f5c2d1b2a3c00000000")
	f.Add("0", "now")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errA := layer.ParseSeq(a)
		y, errB := layer.ParseSeq(b)
		if errA != nil || errB != nil {
			return
		}
		if x.IsZero() || y.IsZero() {
			return // "0" is written in full
		}
		if again, err := layer.ParseSeq(x.String()); err != nil || again != x {
			t.Fatalf("%q became %q (%v)", a, x, err)
		}
		if text := compare(x.String(), y.String()); text != x.Compare(y) {
			t.Fatalf("%q and %q: as texts %d, as sequences %d", a, b, text, x.Compare(y))
		}
	})
}

func compare(a, b string) int { return bytes.Compare([]byte(a), []byte(b)) }
