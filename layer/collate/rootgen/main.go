//go:build icu

// Command rootgen asks ICU for its root collation and writes what package collate needs of it:
//
//	go run -tags icu ./layer/collate/rootgen layer/collate
//
// root.bin is the table of collation elements; testdata/*.gz are ICU's answers for the tests. It needs cgo and ICU's
// development files (Debian: libicu-dev, pkg-config). A change of ICU's version changes the order: raise
// collate.Version with it.
package main

/*
#cgo pkg-config: icu-i18n icu-uc
#include <unicode/ucol.h>
#include <unicode/ucoleitr.h>
#include <unicode/uchar.h>
#include <unicode/uiter.h>
#include <unicode/uset.h>

static UCollator *root_open(void) {
	UErrorCode e = U_ZERO_ERROR;
	return ucol_open("", &e);
}

static int root_elements(UCollator *c, const UChar *s, int n, int32_t *out, int max) {
	UErrorCode e = U_ZERO_ERROR;
	UCollationElements *it = ucol_openElements(c, s, n, &e);
	int k = 0;
	int32_t o;
	while ((o = ucol_next(it, &e)) != UCOL_NULLORDER && k < max) out[k++] = o;
	ucol_closeElements(it);
	return k;
}

// As CouchDB compares.
static int root_compare(UCollator *c, const char *a, int an, const char *b, int bn) {
	UErrorCode e = U_ZERO_ERROR;
	UCharIterator x, y;
	uiter_setUTF8(&x, a, an);
	uiter_setUTF8(&y, b, bn);
	return ucol_strcollIter(c, &x, &y, &e);
}

static int root_assigned(int c) { return u_charType(c) != U_UNASSIGNED; }

static USet *root_contractions(UCollator *c) {
	UErrorCode e = U_ZERO_ERROR;
	USet *s = uset_openEmpty();
	ucol_getContractionsAndExpansions(c, s, NULL, 1, &e);
	return s;
}

static int root_item(USet *s, int i, UChar *out, int max) {
	UErrorCode e = U_ZERO_ERROR;
	UChar32 from, to;
	return uset_getItem(s, i, &from, &to, out, max, &e);
}

static void root_version(UCollator *c, char *out) {
	UVersionInfo v;
	u_getVersion(v);
	u_versionToString(v, out);
}
*/
import "C"

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf16"
	"unsafe"

	"github.com/divandb/divan/layer/collate/samples"
)

// element is a collation element: the weights of its three levels.
type element struct {
	primary             uint32
	secondary, tertiary uint16
}

func (e element) packed() uint64 {
	return uint64(e.primary)<<32 | uint64(e.secondary)<<16 | uint64(e.tertiary)
}

var root = C.root_open()

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("rootgen: give the directory of package collate")
	}
	dir := os.Args[1]
	writeTable(filepath.Join(dir, "root.bin"))
	writeGzip(filepath.Join(dir, "testdata", "characters.gz"), characters())
	writeGzip(filepath.Join(dir, "testdata", "pairs.gz"), pairs())
}

// elements returns ICU's elements of a text. ICU splits a long element into two halves, which are joined here.
func elements(text []rune) []element {
	u := utf16.Encode(text)
	var halves [256]C.int32_t
	n := C.root_elements(root, (*C.UChar)(&u[0]), C.int(len(u)), &halves[0], C.int(len(halves)))
	if int(n) == len(halves) {
		log.Fatalf("rootgen: %x has too many elements", text)
	}
	var out []element
	for _, half := range halves[:n] {
		v := uint32(half)
		switch {
		case v == 0: // ignored
		case v&0xC0 == 0xC0: // the second half
			last := &out[len(out)-1]
			last.primary |= v >> 16
			last.secondary |= uint16(v>>8) & 0xFF
			last.tertiary |= uint16(v) & 0x3F
		default:
			out = append(out, element{v & 0xFFFF0000, uint16(v) & 0xFF00, uint16(v&0x3F) << 8})
		}
	}
	return out
}

// implicit reports whether the order of r follows from its code point, as for unassigned and private characters.
func implicit(e []element) bool { return len(e) == 1 && e[0].primary>>24 == 0xFE }

type mapping struct {
	text     []rune
	elements []element
}

func mappings() (singles, contractions []mapping) {
	for r := rune(0); r <= 0x10FFFF; r++ {
		if r >= 0xD800 && r < 0xE000 || r >= 0xAC00 && r <= 0xD7A3 {
			continue // surrogates; and Hangul syllables, which sort as their parts
		}
		if e := elements([]rune{r}); !implicit(e) {
			singles = append(singles, mapping{[]rune{r}, e})
		}
	}
	set := C.root_contractions(root)
	for i := range C.uset_getItemCount(set) {
		var u [64]C.UChar
		n := C.root_item(set, i, &u[0], C.int(len(u)))
		if n < 2 {
			continue
		}
		text := utf16.Decode(unsafe.Slice((*uint16)(unsafe.Pointer(&u[0])), n))
		if len(text) < 2 {
			continue
		}
		for _, r := range text[1:] {
			if C.u_getCombiningClass(C.UChar32(text[0])) != 0 && C.u_getCombiningClass(C.UChar32(r)) == 0 {
				log.Fatalf("rootgen: the contraction %x continues with a non-mark after a mark", text)
			}
			if text[0] < 0x80 && r < 0x80 {
				log.Fatalf("rootgen: the contraction %x is all ASCII, which package collate does not support", text)
			}
		}
		contractions = append(contractions, mapping{text, elements(text)})
	}
	slices.SortFunc(contractions, func(a, b mapping) int { return slices.Compare(a.text, b.text) })
	return singles, contractions
}

// writeTable writes all elements in order, and for each character and contraction the numbers of its elements, as
// differences in variable-length integers, deflated. readRoot in package collate reads it.
func writeTable(name string) {
	singles, contractions := mappings()
	number := make(map[element]int)
	var all []element
	for _, m := range slices.Concat(singles, contractions) {
		for _, e := range m.elements {
			if _, ok := number[e]; !ok {
				number[e] = 0
				all = append(all, e)
			}
			check(e)
		}
	}
	slices.SortFunc(all, func(a, b element) int { return cmp.Compare(a.packed(), b.packed()) })
	var out []byte
	out = binary.AppendUvarint(out, uint64(len(all)))
	var before element
	for i, e := range all {
		number[e] = i
		out = binary.AppendUvarint(out, uint64(e.primary-before.primary))
		out = binary.AppendVarint(out, int64(e.secondary>>1)-int64(before.secondary>>1))
		out = binary.AppendVarint(out, int64(e.tertiary>>8)-int64(before.tertiary>>8))
		before = e
	}
	last := 0
	numbers := func(es []element) {
		out = binary.AppendUvarint(out, uint64(len(es)))
		for _, e := range es {
			out = binary.AppendVarint(out, int64(number[e]-last))
			last = number[e]
		}
	}
	out = binary.AppendUvarint(out, uint64(len(singles)))
	r := rune(-1)
	for _, m := range singles {
		out = binary.AppendUvarint(out, uint64(m.text[0]-r-1))
		r = m.text[0]
		numbers(m.elements)
	}
	out = binary.AppendUvarint(out, uint64(len(contractions)))
	for _, m := range contractions {
		out = binary.AppendUvarint(out, uint64(len(m.text)))
		for _, r := range m.text {
			out = binary.AppendUvarint(out, uint64(r))
		}
		numbers(m.elements)
	}
	var version [32]C.char
	C.root_version(root, &version[0])
	var b bytes.Buffer
	fmt.Fprintf(&b, "ICU %s root\n", C.GoString(&version[0]))
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	w.Write(out)
	w.Close()
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d elements, %d characters, %d contractions, %d bytes", name, len(all), len(singles),
		len(contractions), b.Len())
}

// check verifies the assumptions of package collate's encoding.
func check(e element) {
	switch {
	case e.primary == 0 && (e.secondary <= 0x0500 || e.tertiary == 0),
		e.primary != 0 && (e.secondary == 0 || e.tertiary == 0),
		e.secondary != 0 && e.secondary < 0x0500,
		e.secondary > 0x0500 && e.secondary < 0x7000,
		e.secondary&1 != 0,
		e.tertiary&0xFF != 0,
		e.tertiary < 0x0500 && e.primary>>24 != 0x7A,
		e.tertiary > 0x3F00,
		e.primary != 0 && e.primary>>24 < 2:
		log.Fatalf("rootgen: the element %x needs another encoding", e)
	}
}

// characters returns all assigned characters outside of the supplementary ideographic planes, in ICU's order: as
// differences of code points, whose lowest bit says that the character equals the one before.
func characters() []byte {
	var all []rune
	for r := rune(0); r < 0x20000; r++ {
		if r >= 0xD800 && r < 0xE000 || C.root_assigned(C.int(r)) == 0 {
			continue
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b rune) int {
		return cmp.Or(compare(string(a), string(b)), cmp.Compare(a, b))
	})
	var out []byte
	before := rune(0)
	for i, r := range all {
		equal := int64(0)
		if i > 0 && compare(string(before), string(r)) == 0 {
			equal = 1
		}
		out = binary.AppendVarint(out, int64(r-before)<<1|equal)
		before = r
	}
	log.Printf("%d characters", len(all))
	return out
}

// pairs returns ICU's comparisons of the samples, five per byte.
func pairs() []byte {
	out := make([]byte, 0, samples.Pairs/5)
	for n := 0; n < samples.Pairs; n += 5 {
		b := 0
		for i := range 5 {
			x, y := samples.Pair(n + i)
			b = b*3 + compare(x, y) + 1
		}
		out = append(out, byte(b))
	}
	return out
}

func compare(a, b string) int {
	return int(C.root_compare(root, (*C.char)(unsafe.Pointer(unsafe.StringData(a))), C.int(len(a)),
		(*C.char)(unsafe.Pointer(unsafe.StringData(b))), C.int(len(b))))
}

func writeGzip(name string, data []byte) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		log.Fatal(err)
	}
	w.Close()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d bytes", name, b.Len())
}
