package collate

import "strconv"

// Letters says what the strings in a JSON value are made of, so that a reader of a view knows whether the order of its
// keys can differ from the order of their bytes.
type Letters uint8

const (
	// Plain strings have only printable characters of ASCII, and no lower-case letters.
	Plain Letters = iota
	// LowerCase strings have only printable characters of ASCII.
	LowerCase
	// AnyLetters may have other characters.
	AnyLetters
)

// KeyParts is the number of parts of a key that LettersOf tells apart. The last one stands for all further parts.
const KeyParts = 4

// LettersOf returns what the strings in the elements of an array are made of, and for any other value, as part 0, those
// in it. It takes every escape but those of quotes and slashes for some other character.
func LettersOf(json []byte) (parts [KeyParts]Letters) {
	array := len(json) > 0 && json[0] == '['
	part, depth, inString := 0, 0, false
	for i := 0; i < len(json); i++ {
		c := json[i]
		if !inString {
			switch c {
			case '"':
				inString = true
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			case ',':
				if array && depth == 1 && part < KeyParts-1 {
					part++
				}
			}
			continue
		}
		switch {
		case c == '"':
			inString = false
		case c == '\\':
			if i++; i < len(json) && json[i] != '"' && json[i] != '\\' && json[i] != '/' {
				parts[part] = AnyLetters
			}
		case c < ' ' || c > '~':
			parts[part] = AnyLetters
		case c >= 'a' && c <= 'z':
			parts[part] = max(parts[part], LowerCase)
		}
	}
	return parts
}

// HasControls reports whether the strings of a JSON text have control characters that the order ignores. By its bytes
// such a string comes before others, and in the order it can be anywhere.
func HasControls(json []byte) bool {
	for i := 0; i+1 < len(json); i++ {
		if json[i] != '\\' {
			continue
		}
		i++
		if json[i] == 'b' {
			return true
		}
		if json[i] != 'u' || i+4 >= len(json) {
			continue
		}
		// From \t to \r, they are white space.
		if c, err := strconv.ParseUint(string(json[i+1:i+5]), 16, 16); err == nil && c < ' ' && (c < '\t' || c > '\r') {
			return true
		}
	}
	return false
}
