// Package jsontext reads and writes JSON texts in place, without decoding them. A Scanner validates a text while it
// reads it, so that extracting parts of a large document costs no more than finding them; the Skip functions read
// texts that are known to be valid. All code in the module that reads JSON text uses this package, so that all of it
// agrees on what a string means.
//
// Validators of libraries (gjson, fastjson) would need a second pass for the members, and the depth of their
// recursion is unbounded or not configurable.
package jsontext
