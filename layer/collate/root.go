package collate

import (
	"bytes"
	"cmp"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// rootData is ICU's root collation, written by rootgen. The data are Unicode's; see UNICODE-LICENSE.
//
//go:embed root.bin
var rootData []byte

// element is one collation element: primary<<32 | secondary<<16 | tertiary, with ICU's weights. A weight of zero is
// ignored on its level.
type element uint64

func (e element) primary() uint32   { return uint32(e >> 32) }
func (e element) secondary() uint16 { return uint16(e >> 16) }
func (e element) tertiary() uint16  { return uint16(e) }

// rootTable maps text to elements. Immutable after it is read.
type rootTable struct {
	version  string
	elements []element
	// pages locate each character's elements: from<<8 | start<<7 | count, where start says that contractions begin
	// with the character. from is 0 if the order follows from the code point.
	pages [(0x10FFFF + 1) >> pageBits]*[1 << pageBits]uint32
	// contractions by first character.
	contractions map[rune]*contraction
	// packed marks the first bytes of primary weights whose second byte is always between packLow and packHigh, so
	// that sequences with the same first byte can be packed.
	packed [256]bool
	// ascii has the primary weights of the ASCII characters that have one element, and 0 for the others.
	ascii [utf8.RuneSelf]uint32
}

const (
	pageBits  = 7
	startFlag = 1 << 7
)

// contraction is a node of the trie of character sequences that sort as a unit.
type contraction struct {
	elements []element
	whole    bool // a text ends here
	next     map[rune]*contraction
}

// root is read when a string first needs it, which takes some 10 ms, and then occupies 2 MB.
var root = sync.OnceValue(func() *rootTable {
	t, err := readRoot(rootData)
	if err != nil {
		panic(fmt.Sprintf("collate: root.bin: %v", err)) // it is embedded in the program
	}
	return t
})

// readRoot decodes what rootgen's writeTable writes.
func readRoot(data []byte) (*rootTable, error) {
	version, deflated, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil, io.ErrUnexpectedEOF
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(deflated)))
	if err != nil {
		return nil, err
	}
	in := &numbers{data: raw}
	all := readElements(in)
	t := &rootTable{version: string(version), contractions: make(map[rune]*contraction)}
	t.elements = append(t.elements, 0) // so that from is never 0
	number := 0
	mapped := func() []element {
		n := int(in.unsigned())
		for range n {
			number += int(in.signed())
			t.elements = append(t.elements, all[number])
		}
		return t.elements[len(t.elements)-n:]
	}
	r := rune(-1)
	for range in.unsigned() {
		r += rune(in.unsigned()) + 1
		from := len(t.elements)
		*t.entry(r) = uint32(from<<8 | len(mapped()))
	}
	for range in.unsigned() {
		text := make([]rune, in.unsigned())
		for i := range text {
			text[i] = rune(in.unsigned())
		}
		t.contract(text, mapped())
	}
	t.findPacked(all)
	for r := range t.ascii {
		if elements, _, _ := t.lookup(rune(r)); len(elements) == 1 {
			t.ascii[r] = elements[0].primary()
		}
	}
	return t, in.err
}

func readElements(in *numbers) []element {
	all := make([]element, in.unsigned())
	var primary uint64
	var secondary, tertiary int64
	for i := range all {
		primary += in.unsigned()
		secondary += in.signed()
		tertiary += in.signed()
		all[i] = element(primary<<32 | uint64(secondary)<<17 | uint64(tertiary)<<8)
	}
	return all
}

func (t *rootTable) entry(r rune) *uint32 {
	p := &t.pages[r>>pageBits]
	if *p == nil {
		*p = new([1 << pageBits]uint32)
	}
	return &(*p)[r&(1<<pageBits-1)]
}

func (t *rootTable) contract(text []rune, elements []element) {
	*t.entry(text[0]) |= startFlag
	node := t.contractions[text[0]]
	if node == nil {
		node = &contraction{}
		t.contractions[text[0]] = node
	}
	for _, r := range text[1:] {
		if node.next == nil {
			node.next = make(map[rune]*contraction)
		}
		if node.next[r] == nil {
			node.next[r] = &contraction{}
		}
		node = node.next[r]
	}
	node.elements, node.whole = elements, true
}

// findPacked finds the first bytes of primary weights that leave room for the two marks of packing.
func (t *rootTable) findPacked(all []element) {
	for i := range t.packed {
		t.packed[i] = i != unassignedLead
	}
	for _, e := range all {
		p := e.primary()
		if second := byte(p >> 16); second <= packLow || second >= packHigh {
			t.packed[p>>24] = false
		}
	}
}

// lookup returns the elements of a character, and whether contractions begin with it. known is false if the order
// follows from the code point.
func (t *rootTable) lookup(r rune) (elements []element, start, known bool) {
	page := t.pages[r>>pageBits]
	if page == nil {
		return nil, false, false
	}
	v := page[r&(1<<pageBits-1)]
	from, n := v>>8, v&(startFlag-1)
	return t.elements[from : from+n], v&startFlag != 0, from != 0
}

// compareASCII orders two strings by their primary weights up to the first that differ, if that can be told from ASCII
// characters that stand for themselves. Otherwise it returns 0.
func (t *rootTable) compareASCII(a, b []byte) int {
	for i := 0; ; i++ {
		if i == len(a) || i == len(b) {
			// Only the longer one may have more weights, if the rest of it begins with one.
			switch {
			case len(a) > i && t.plain(a[i:]) != 0:
				return 1
			case len(b) > i && t.plain(b[i:]) != 0:
				return -1
			}
			return 0
		}
		p, q := t.plain(a[i:]), t.plain(b[i:])
		if p == 0 || q == 0 {
			return 0
		}
		if p != q {
			return cmp.Compare(p, q)
		}
	}
}

// plain returns the primary weight of the first character of text, or 0 if it is not an ASCII character with one
// element, or if a character follows that may combine with it.
func (t *rootTable) plain(text []byte) uint32 {
	if text[0] >= utf8.RuneSelf || len(text) > 1 && text[1] >= utf8.RuneSelf {
		return 0
	}
	return t.ascii[text[0]]
}

// numbers decodes variable-length integers.
type numbers struct {
	data []byte
	err  error
}

func (n *numbers) unsigned() uint64 {
	v, size := binary.Uvarint(n.data)
	n.take(size)
	return v
}

func (n *numbers) signed() int64 {
	v, size := binary.Varint(n.data)
	n.take(size)
	return v
}

func (n *numbers) take(size int) {
	if size <= 0 {
		n.err, n.data = io.ErrUnexpectedEOF, nil
		return
	}
	n.data = n.data[size:]
}
