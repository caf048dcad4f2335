package tuple

import (
	"bytes"
	"fmt"
)

// Skip returns the bytes after the first element of b, without decoding it.
func Skip(b []byte) (rest []byte, err error) { return skip(b, 0) }

func skip(b []byte, depth int) ([]byte, error) {
	if len(b) == 0 {
		return nil, ErrTruncated
	}
	size := 0
	switch code := b[0]; {
	case code == codeNil, code == codeFalse, code == codeTrue:
	case code == codeBytes, code == codeString:
		return skipEscaped(b[1:])
	case code == codeNested:
		return skipNested(b[1:], depth+1)
	case code >= codeZero && code <= codeZero+8:
		size = int(code) - codeZero
	case code >= codeZero-8 && code < codeZero:
		size = codeZero - int(code)
	case code == codeNegativeBig || code == codePositiveBig:
		if len(b) < 2 {
			return nil, ErrTruncated
		}
		if size = 1 + int(b[1]); code == codeNegativeBig {
			size = 1 + int(^b[1])
		}
	case code == codeFloat32:
		size = 4
	case code == codeFloat64:
		size = 8
	case code == codeUUID:
		size = 16
	case code == codeVersionstamp:
		size = 12
	default:
		return nil, fmt.Errorf("%w: type code 0x%02x is not supported", ErrType, code)
	}
	if len(b) < 1+size {
		return nil, ErrTruncated
	}
	return b[1+size:], nil
}

func skipEscaped(b []byte) ([]byte, error) {
	for {
		end := bytes.IndexByte(b, 0)
		if end < 0 {
			return nil, ErrTruncated
		}
		if end+1 == len(b) || b[end+1] != escape {
			return b[end+1:], nil
		}
		b = b[end+2:]
	}
}

func skipNested(b []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, ErrDepth
	}
	for {
		if len(b) == 0 {
			return nil, ErrTruncated
		}
		if b[0] == codeNil {
			if len(b) == 1 || b[1] != escape {
				return b[1:], nil
			}
			b = b[2:]
			continue
		}
		var err error
		if b, err = skip(b, depth); err != nil {
			return nil, err
		}
	}
}
