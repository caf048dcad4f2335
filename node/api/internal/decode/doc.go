// Package decode reads JSON from clients that has been validated and does not nest too deeply. Documents are parsed by
// the layer.
package decode
