// Package decode looks into JSON that comes from outside, once it has been validated and is known not to nest too
// deeply. Documents are parsed by the layer.
package decode
