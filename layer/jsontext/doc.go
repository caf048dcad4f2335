// Package jsontext reads and writes JSON texts in place, without decoding them. A Scanner validates a text while it
// reads it, so that extracting parts of a large document costs no more than finding them; the Skip functions read
// texts that are known to be valid. All code in the module that scans JSON, or writes strings in it, does so by this
// package, so that all of it agrees on what a string means. Where values are needed, gjson and encoding/json read them
// from texts that are valid.
//
// Validators of libraries (gjson, fastjson) would need a second pass for the members, and the depth of their
// recursion is unbounded or not configurable.
package jsontext
