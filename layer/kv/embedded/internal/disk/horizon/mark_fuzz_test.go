package horizon

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzDecodeSlot checks that a damaged slot is rejected, and that a valid one survives encoding.
func FuzzDecodeSlot(f *testing.F) {
	m := Mark{version: 7, Manifest: "MANIFEST-000001",
		Files: []Prefix{{"MANIFEST-000001", 100, 1}, {"000002.log", 40000, 2}}}
	f.Add(m.encode(nil, 3))
	f.Add(m.encode(nil, 3)[:40])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeFirstFormat(b)
		m, count, ok := decodeSlot(b, 0)
		if !ok {
			return
		}
		again, n, ok := decodeSlot(m.encode(nil, count), 0)
		if !ok || n != count || !reflect.DeepEqual(again, m) {
			t.Errorf("%+v is read back as %+v", m, again)
		}
		if !bytes.HasPrefix(b, m.encode(nil, count)) {
			t.Errorf("%+v is encoded differently", m)
		}
	})
}
