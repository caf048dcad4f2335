// Package encode writes JSON. All its functions append to a slice and return it. Package render writes documents.
package encode
