package engine

import js "modernc.org/libquickjs"

// image is a copy of a machine's memory with its program loaded. Each document, reduction and validation starts from
// the image, so that no call sees state that an earlier one has left behind: a global variable, a closure's, a member
// of a module or of a built-in function. Otherwise a view's rows would depend on the order of the documents and on
// which of them were mapped by the same runtime.
//
// All state of the engine lies in the arena. So copying the used part of the arena is enough, whatever the function
// did, and needs no knowledge of the engine. The used part is some 300 KB, and 50 KB for each further function.
// Copying takes 8 microseconds, part of which is saved by not freeing the call's values one by one. Comparing the
// objects with the image and copying only those that differ was tried: it takes 2 microseconds, but it must know
// where every kind of object keeps what can change, and must tell a string that was freed from another one in its
// place.
type image struct {
	mem    []byte
	sizes  []uint32
	small  [smallUnits + 1][]uint32
	runs   []run
	top    int
	used   int
	input  buffer
	escape buffer
}

// since is what Go knows about memory that is not in the image.
type since struct{ names, texts []string }

// take makes an image of the current memory, replacing any earlier one.
func (m *machine) take() {
	if m.image == nil {
		m.image = &image{}
	}
	a, i := m.arena, m.image
	i.mem = append(i.mem[:0], a.mem[:a.top*unit]...)
	i.sizes = append(i.sizes[:0], a.sizes[:a.top]...)
	for n := range a.small {
		i.small[n] = append(i.small[n][:0], a.small[n]...)
	}
	i.runs = append(i.runs[:0], a.runs...)
	i.top, i.used, i.input, i.escape = a.top, a.used, m.input, m.escape
	m.since = since{m.since.names[:0], m.since.texts[:0]}
}

// reset restores the memory from the image. All values created since become invalid.
func (m *machine) reset() {
	a, i := m.arena, m.image
	copy(a.mem, i.mem)
	clear(a.sizes[:max(a.top, i.top)])
	copy(a.sizes, i.sizes)
	for n := range a.small {
		a.small[n] = append(a.small[n][:0], i.small[n]...)
	}
	a.runs = append(a.runs[:0], i.runs...)
	a.top, a.used, m.input, m.escape = i.top, i.used, i.input, i.escape
	for _, text := range m.since.texts {
		delete(m.texts, text)
	}
	m.since.texts = m.since.texts[:0]
}

// names returns the names that documents had since the image was taken, and forgets them.
func (m *machine) names() []string {
	names := m.since.names
	m.since.names = names[:0]
	for _, name := range names {
		delete(m.atoms, name)
	}
	return names
}

// intern adds names to the engine's known names.
func (m *machine) intern(names []string) error {
	for _, name := range names {
		text := m.cstring(name)
		if text == 0 {
			return &LimitError{Limit: "memory"}
		}
		atom := js.XJS_NewAtomLen(m.tls, m.main, text, js.Tsize_t(len(name)))
		m.arena.free(text)
		if atom == 0 {
			return &LimitError{Limit: "memory"}
		}
		m.atoms[name] = atom
	}
	return nil
}
