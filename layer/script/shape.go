package script

import (
	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/layer/script/internal/direct"
)

// Shape describes the rows of a map function that emits members of the document under a plain condition. It returns nil
// for any other function, and for text that is not one. It does not run the function.
func Shape(source string) *rowshape.Shape { return direct.Parse([]string{source}).Shape(0) }
