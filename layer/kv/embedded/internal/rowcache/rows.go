package rowcache

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Cache remembers single rows, so that reading a key again costs a look and a copy and not a search of memtables and
// tables. Pebble's own cache is of blocks, in which the row has still to be found.
//
// It holds the newest state of a key and since which version it is known to be that. A read at that version or a later
// one may use it: the sequencer replaces it before any version that changes the key can be read. A read at an older one
// goes to the store.
//
// Pages are filled in a circle, the oldest row making room for the newest, and hold no pointers: however many rows
// there are, they cost the garbage collector nothing, and the memory has a bound that does not depend on their sizes.
type Cache struct {
	seed  maphash.Seed
	pages []rowPage
	// cleared is the last version with a range deletion whose rows nobody listed. What was known up to it counts no
	// more.
	cleared atomic.Int64
}

const (
	rowPageBytes = 4096 // of a pageBody
	rowPageSlots = 32
	// maxCachedRow is the longest key and value together.
	maxCachedRow = 1024
	// fewWrites is up to how many writes of one transaction are remembered though nobody read their keys: what little
	// is written at once is often read next. A load must not push out what is read.
	fewWrites = 16
	// noValue is the length of the value of a key that does not exist.
	noValue = 0xffff
)

// rowPage holds the rows with the same low bits of their hash.
type rowPage struct {
	mu      sync.Mutex
	written int64     // the newest version that wrote a key of this page
	body    *pageBody // nil before the first row
	head    uint16    // where in data the next row goes
	first   uint8     // the oldest slot; they are a ring
	count   uint8
	// tags are of the hashes of the slots' keys, 0 for none. They are here, four in a word, and not with the rows, so
	// that a search for a key that is not there, as for most that a load writes, stays within the processor's caches.
	tags [rowPageSlots / 4]uint64
}

type pageBody struct {
	slots [rowPageSlots]rowSlot
	data  [rowPageBytes - rowPageSlots*16]byte
}

// rowSlot is a row: its key is in data at off, and its value after it.
type rowSlot struct {
	since      int64
	off        uint16
	key, value uint16 // lengths
}

// New has no more than about so many bytes, and at least one page.
func New(size int64) *Cache {
	return &Cache{seed: maphash.MakeSeed(), pages: make([]rowPage, max(1, size/(rowPageBytes+96)))}
}

// place is the page of a key and its tag there.
func (c *Cache) place(key []byte) (*rowPage, uint16) {
	h := maphash.Bytes(c.seed, key)
	page, _ := bits.Mul64(h, uint64(len(c.pages)))
	return &c.pages[page], uint16(h) | 1
}

// Get returns the value of key at version in new memory, nil where it does not exist. known is false where the store
// has to be asked.
func (c *Cache) Get(key []byte, version int64) (value []byte, known bool) {
	p, tag := c.place(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, s := p.find(key, tag)
	if s == nil || s.since > version || s.since <= c.cleared.Load() {
		return nil, false
	}
	if s.value == noValue {
		return nil, true
	}
	at := s.off + s.key
	return append(make([]byte, 0, s.value), p.body.data[at:at+s.value]...), true
}

// Fill remembers what the store said of key at version, unless it was written since. A nil value means that there is
// none.
func (c *Cache) Fill(key, value []byte, version int64) {
	cleared := c.cleared.Load()
	if len(key)+len(value) > maxCachedRow || version <= cleared {
		return
	}
	p, tag := c.place(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written > version {
		return
	}
	if i, s := p.find(key, tag); s != nil {
		if s.since > cleared {
			return
		}
		p.tag(uint8(i), 0)
	}
	p.append(key, value, version, tag)
}

// write replaces what is known of key by what version writes. A key of which nothing is known is remembered where keep.
// Versions do not go back, and version is not read yet.
func (c *Cache) write(key, value []byte, version int64, keep bool) {
	p, tag := c.place(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = version
	i, s := p.find(key, tag)
	if s == nil && !keep {
		return
	}
	if s != nil && s.replace(p.body, value, version) {
		return
	}
	if s != nil {
		p.tag(uint8(i), 0)
	}
	if len(key)+len(value) <= maxCachedRow {
		p.append(key, value, version, tag)
	}
}

// clear forgets all keys. A row that is written at this version, before or after this, is not used either.
func (c *Cache) clear(version int64) { c.cleared.Store(version) }

var errBatch = errors.New("embedded: a batch cannot be read back")

// Knows reports whether the newest state of a key is remembered.
func (c *Cache) Knows(key []byte) bool {
	p, tag := c.place(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, s := p.find(key, tag)
	return s != nil && s.since > c.cleared.Load()
}

// WriteAll is write for what a batch does. The last of its writes, so many, are of atomic operations: those are mostly
// of counters, which are wanted again.
func (c *Cache) WriteAll(b *pebble.Batch, version int64, counters int) error {
	keep := b.Count() <= fewWrites
	left := int(b.Count())
	for r := b.Reader(); ; left-- {
		if left <= counters && counters <= fewWrites {
			keep = true
		}
		kind, key, value, ok, err := r.Next()
		switch {
		case err != nil:
			return err
		case !ok:
			return nil
		case kind == pebble.InternalKeyKindSet:
			if value == nil {
				value = []byte{}
			}
			c.write(key, value, version, keep)
		case kind == pebble.InternalKeyKindDelete:
			c.write(key, nil, version, keep)
		case kind == pebble.InternalKeyKindRangeDelete:
			c.clear(version)
		default:
			return errBatch
		}
	}
}

func (p *rowPage) oldest() *rowSlot { return &p.body.slots[p.first] }

// find returns the slot of a key and its index, nil where there is none.
func (p *rowPage) find(key []byte, tag uint16) (int, *rowSlot) {
	const ones = 0x0001_0001_0001_0001
	for w, four := range p.tags {
		// A tag of the four that is the one wanted becomes zero, and a zero among them sets its highest bit; that of
		// one above it may be set too.
		x := four ^ uint64(tag)*ones
		for hits := (x - ones) &^ x & (ones << 15); hits != 0; hits &= hits - 1 {
			lane := bits.TrailingZeros64(hits) / 16
			if uint16(four>>(16*lane)) != tag {
				continue
			}
			i := 4*w + lane
			if s := &p.body.slots[i]; bytes.Equal(p.body.data[s.off:s.off+s.key], key) {
				return i, s
			}
		}
	}
	return 0, nil
}

// tag makes a slot's tag this one.
func (p *rowPage) tag(slot uint8, tag uint16) {
	shift := slot % 4 * 16
	p.tags[slot/4] = p.tags[slot/4]&^(0xffff<<shift) | uint64(tag)<<shift
}

// replace puts a value into the room of the one before, if it fits.
func (s *rowSlot) replace(b *pageBody, value []byte, version int64) bool {
	switch {
	case value == nil:
		s.value = noValue
	case s.value == noValue || len(value) > int(s.value):
		return false
	default:
		s.value = uint16(copy(b.data[s.off+s.key:], value))
	}
	s.since = version
	return true
}

// append makes a row the newest, in place of as many of the oldest as it needs.
func (p *rowPage) append(key, value []byte, version int64, tag uint16) {
	if p.body == nil {
		p.body = new(pageBody)
	}
	n := uint16(len(key) + len(value))
	if int(p.head)+int(n) > len(p.body.data) {
		for p.count > 0 && p.oldest().off >= p.head {
			p.dropOldest()
		}
		p.head = 0
	}
	// The oldest row is the next one after head, if any is.
	for p.count == rowPageSlots || p.count > 0 && p.oldest().off >= p.head && p.oldest().off < p.head+n {
		p.dropOldest()
	}
	i := (p.first + p.count) % rowPageSlots
	s := &p.body.slots[i]
	*s = rowSlot{since: version, off: p.head, key: uint16(len(key)), value: noValue}
	p.tag(i, tag)
	p.head += uint16(copy(p.body.data[p.head:], key))
	if value != nil {
		s.value = uint16(copy(p.body.data[p.head:], value))
		p.head += s.value
	}
	p.count++
}

func (p *rowPage) dropOldest() {
	p.tag(p.first, 0)
	p.first = (p.first + 1) % rowPageSlots
	p.count--
}
