// Package encode writes JSON: all its functions append to a slice and return it. Documents are written by package
// render.
package encode
