// Package jsontext reads and writes JSON texts where they stand, without decoding them. A Scanner goes through a text
// and validates it in the same pass, so that what an answer or an index wants of a large document costs no more than
// finding it; the functions Skip... go through texts that are known to be valid. Everything in the module that looks at
// JSON text uses it, so that all agree on what a string means.
//
// Validators of libraries (gjson, fastjson) would need a second pass for the members, and their recursion has no bound,
// or one that others would have to know.
package jsontext
