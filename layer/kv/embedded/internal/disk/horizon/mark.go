package horizon

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// The horizon's file has two pairs of slots, for synced marks and for others. The mark with the highest count is the
// newest; a torn mark fails its checksum. A slot is:
//
//	"DHZ2"           4 bytes, which programs of the first format refuse
//	length           2 bytes, of the slot with its checksum
//	count            8 bytes
//	version          8 bytes
//	manifest         1 byte length, and the name
//	for each file    1 byte length, the name, 8 bytes size, 4 bytes checksum
//	checksum         4 bytes, Castagnoli
//
// Integers are big-endian.
const (
	slots    = 4
	slotSize = 8 << 10

	syncedSlots   = 0 // the first pair
	unsyncedSlots = 1

	slotMagic  = "DHZ2"
	slotHeader = len(slotMagic) + 2 + 8 + 8
)

// put adds a file or replaces its entry. The manifests come first, then the newest logs: a slot has space for some
// 250, and for older logs Pebble itself requires a proper end.
func (m *Mark) put(p Prefix) {
	if i := slices.IndexFunc(m.Files, func(q Prefix) bool { return q.Name == p.Name }); i >= 0 {
		m.Files[i] = p
		return
	}
	m.Files = append(m.Files, p)
	slices.SortFunc(m.Files, func(a, b Prefix) int {
		if IsManifest(a.Name) != IsManifest(b.Name) {
			if IsManifest(a.Name) {
				return -1
			}
			return 1
		}
		return cmp.Compare(FileNumber(b.Name), FileNumber(a.Name))
	})
}

// drop removes a file, and reports whether it was there.
func (m *Mark) drop(name string) bool {
	n := len(m.Files)
	m.Files = slices.DeleteFunc(m.Files, func(p Prefix) bool { return p.Name == name })
	return len(m.Files) < n
}

// encode appends the mark as a slot to b, which is empty.
func (m *Mark) encode(b []byte, count uint64) []byte {
	b = append(b, slotMagic...)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint64(b, count)
	b = binary.BigEndian.AppendUint64(b, uint64(m.version))
	b = appendName(b, m.Manifest)
	for _, p := range m.Files {
		if len(b)+1+len(p.Name)+8+4+4 > slotSize {
			break
		}
		b = appendName(b, p.Name)
		b = binary.BigEndian.AppendUint64(b, p.Size)
		b = binary.BigEndian.AppendUint32(b, p.sum)
	}
	binary.BigEndian.PutUint16(b[len(slotMagic):], uint16(len(b)+4))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendName(b []byte, name string) []byte {
	return append(append(b, byte(len(name))), name...)
}

// decodeSlot returns the mark in a slot of the horizon's file, if it is valid.
func decodeSlot(file []byte, slot int) (m Mark, count uint64, ok bool) {
	if len(file) <= slot*slotSize {
		return Mark{}, 0, false
	}
	b := file[slot*slotSize : min((slot+1)*slotSize, len(file))]
	if len(b) < slotHeader+1+4 || string(b[:len(slotMagic)]) != slotMagic {
		return Mark{}, 0, false
	}
	length := int(binary.BigEndian.Uint16(b[len(slotMagic):]))
	if length < slotHeader+1+4 || length > len(b) {
		return Mark{}, 0, false
	}
	b, sum := b[:length-4], binary.BigEndian.Uint32(b[length-4:])
	if crc32.Checksum(b, castagnoli) != sum {
		return Mark{}, 0, false
	}
	count = binary.BigEndian.Uint64(b[len(slotMagic)+2:])
	m.version = int64(binary.BigEndian.Uint64(b[len(slotMagic)+10:]))
	b = b[slotHeader:]
	if m.Manifest, b, ok = cutName(b); !ok {
		return Mark{}, 0, false
	}
	for len(b) > 0 {
		var p Prefix
		if p.Name, b, ok = cutName(b); !ok || len(b) < 12 {
			return Mark{}, 0, false
		}
		p.Size, p.sum = binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])
		m.Files, b = append(m.Files, p), b[12:]
	}
	return m, count, true
}

func cutName(b []byte) (name string, rest []byte, ok bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, false
	}
	return string(b[1 : 1+int(b[0])]), b[1+int(b[0]):], true
}

// decodeFirstFormat reads the file format of older programs: a version, and the manifest that was synced then,
// without logs.
func decodeFirstFormat(b []byte) (m Mark, ok bool) {
	end := len(b) - 4
	if end < 21 || b[0] != 1 || crc32.Checksum(b[:end], castagnoli) != binary.BigEndian.Uint32(b[end:]) {
		return Mark{}, false
	}
	m.version = int64(binary.BigEndian.Uint64(b[1:]))
	m.Manifest = string(b[21:end])
	if m.Manifest != "" {
		m.Files = []Prefix{{m.Manifest, binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint32(b[17:])}}
	}
	return m, true
}
