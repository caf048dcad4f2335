// Package jsontext reads and writes JSON texts without decoding them. What the texts mean is for its users to know;
// keys of views are compared in layer/collate.
package jsontext
