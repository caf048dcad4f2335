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

// Cache keeps single rows, so that reading a key again costs a lookup and a copy instead of a search of memtables and
// tables. Pebble's own cache holds blocks, in which the row would still have to be found.
//
// It holds the newest state of a key and the version since which that state is known. Reads at that version or later
// may use it: the sequencer replaces it before any version that changes the key becomes readable. Reads at older
// versions go to the store.
//
// Pages are ring buffers, in which the newest row replaces the oldest, and hold no pointers: they cost the garbage
// collector nothing however many rows there are, and the memory bound does not depend on the rows' sizes.
type Cache struct {
	seed  maphash.Seed
	pages []rowPage
	// cleared is the last version with a range deletion whose rows were not listed. Rows known up to it are invalid.
	cleared atomic.Int64
}

const (
	rowPageBytes = 4096 // size of a pageBody
	rowPageSlots = 32
	// maxCachedRow is the greatest length of key and value together.
	maxCachedRow = 1024
	// fewWrites is the largest transaction whose writes are cached although nobody has read their keys: rows of small
	// transactions are often read next. Bulk loads must not evict rows that are read.
	fewWrites = 16
	// noValue is the length of the value of a key that does not exist.
	noValue = 0xffff
)

// rowPage holds the rows whose hashes have the same low bits.
type rowPage struct {
	mu      sync.Mutex
	written int64     // the newest version that wrote a key of this page
	body    *pageBody // nil before the first row
	head    uint16    // where in data the next row goes
	first   uint8     // the oldest slot; the slots form a ring
	count   uint8
	// tags are parts of the hashes of the slots' keys, 0 for none. They are stored here, four in a word, and not with
	// the rows, so that a lookup that finds nothing, as for most keys that a load writes, stays within the
	// processor's caches.
	tags [rowPageSlots / 4]uint64
}

type pageBody struct {
	slots [rowPageSlots]rowSlot
	data  [rowPageBytes - rowPageSlots*16]byte
}

// rowSlot locates a row: its key is in data at off, followed by its value.
type rowSlot struct {
	since      int64
	off        uint16
	key, value uint16 // lengths
}

// New returns a cache of about size bytes, with at least one page.
func New(size int64) *Cache {
	return &Cache{seed: maphash.MakeSeed(), pages: make([]rowPage, max(1, size/(rowPageBytes+96)))}
}

// place returns the page of a key and its tag there.
func (c *Cache) place(key []byte) (*rowPage, uint16) {
	h := maphash.Bytes(c.seed, key)
	page, _ := bits.Mul64(h, uint64(len(c.pages)))
	return &c.pages[page], uint16(h) | 1
}

// Get returns the value of key at version in new memory, nil if it does not exist. known is false if the store has to
// be asked.
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

// Fill caches the value of key that was read at version, unless the key may have been written since. A nil value
// means that there is none.
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

// write records that version writes key. A key that is not cached is added only if keep is set. Versions do not
// decrease, and version is not readable yet.
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

// clear invalidates all keys, including rows written at this version, before or after this call.
func (c *Cache) clear(version int64) { c.cleared.Store(version) }

var errBatch = errors.New("embedded: cannot decode a batch")

// Knows reports whether the newest state of a key is cached.
func (c *Cache) Knows(key []byte) bool {
	p, tag := c.place(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, s := p.find(key, tag)
	return s != nil && s.since > c.cleared.Load()
}

// WriteAll calls write for each write of a batch. The last counters writes are atomic operations: mostly on counters,
// which are read again soon.
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

// find returns the slot of a key and its index, or nil.
func (p *rowPage) find(key []byte, tag uint16) (int, *rowSlot) {
	const ones = 0x0001_0001_0001_0001
	for w, four := range p.tags {
		// A tag that matches becomes zero in x, and the subtraction sets the highest bit of each zero; the bit of the
		// tag above it may be set too.
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

// tag sets the tag of a slot.
func (p *rowPage) tag(slot uint8, tag uint16) {
	shift := slot % 4 * 16
	p.tags[slot/4] = p.tags[slot/4]&^(0xffff<<shift) | uint64(tag)<<shift
}

// replace overwrites the row's value in place if the new one fits.
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

// append adds a row as the newest, evicting as many of the oldest as needed.
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
	// If there are rows, the oldest is the next one after head.
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
