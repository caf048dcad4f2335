package jsontext

// SkipSpace returns the index after white space at i.
func SkipSpace[T ~string | ~[]byte](text T, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// SkipString returns the index after the string that begins at i, or len(text) if it does not end.
func SkipString[T ~string | ~[]byte](text T, i int) int {
	end, _ := skipString(text, i)
	return end
}

func skipString[T ~string | ~[]byte](text T, i int) (end int, ok bool) {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1, true
		}
	}
	return len(text), false
}

// SkipValue returns the index after the value that begins at i. It matches brackets and strings but validates
// nothing. ok is false if the value does not end, or is nested deeper than depth.
func SkipValue[T ~string | ~[]byte](text T, i, depth int) (end int, ok bool) {
	at := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i, ok = skipString(text, i); at == 0 {
				return i, ok
			}
			continue
		case '{', '[':
			if at++; at > depth {
				return i, false
			}
		case '}', ']':
			if at == 0 {
				return i, true
			}
			if at--; at == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if at == 0 {
				return i, true
			}
		}
		i++
	}
	return i, at == 0
}

// Within reports whether brackets nest at most depth deep. It does not recurse, and checks nothing else.
func Within[T ~string | ~[]byte](text T, depth int) bool {
	at := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = SkipString(text, i) - 1
		case '{', '[':
			if at++; at > depth {
				return false
			}
		case '}', ']':
			at--
		}
	}
	return true
}

// AppendCompact appends valid JSON without insignificant white space.
func AppendCompact(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		from := i
		switch text[i] {
		case '"':
			i = SkipString(text, i)
		case ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			i++
		}
		dst = append(dst, text[from:i]...)
	}
	return dst
}
