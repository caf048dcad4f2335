// Package jsontext reads and writes JSON texts without decoding them.
package jsontext
