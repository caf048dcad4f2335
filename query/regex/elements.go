package regex

import "strings"

// elements maps POSIX's names of characters, used as [.name.], to the characters.
var elements = func() map[string]rune {
	out := map[string]rune{}
	for first, names := range map[rune]string{
		0: "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM " +
			"SUB ESC IS4 " +
			"IS3 " +
			"IS2 IS1 space exclamation-mark quotation-mark number-sign dollar-sign percent-sign ampersand apostrophe " +
			"left-parenthesis right-parenthesis asterisk plus-sign comma hyphen period slash " +
			"zero one two three four five six seven eight nine colon semicolon less-than-sign equals-sign " +
			"greater-than-sign question-mark commercial-at",
		'[':  "left-square-bracket backslash right-square-bracket circumflex underscore grave-accent",
		'{':  "left-brace vertical-line right-brace tilde DEL",
		'\a': "alert backspace tab newline vertical-tab form-feed carriage-return",
		0x1c: "FS GS RS US",
	} {
		for i, name := range strings.Fields(names) {
			out[name] = first + rune(i)
		}
	}
	for name, r := range map[string]rune{"hyphen-minus": '-', "full-stop": '.', "solidus": '/', "reverse-solidus": '\\',
		"circumflex-accent": '^', "low-line": '_', "left-curly-bracket": '{', "right-curly-bracket": '}'} {
		out[name] = r
	}
	return out
}()
