package exec

import (
	"container/list"
	"regexp"
	"sync"

	"github.com/divandb/divan/query/sqlstate"
)

// compiled keeps the regular expressions used last: a filter asks for the same one at every row.
var compiled struct {
	sync.Mutex
	byText map[string]*list.Element // of *pattern
	order  list.List                // the one used last in front
}

type pattern struct {
	text string
	re   *regexp.Regexp
}

const maxCompiled = 256

// compile compiles a pattern in Go's syntax, by way of the cache. leftmostLongest is POSIX' rule of matching.
func compile(text string, longest bool) (*regexp.Regexp, error) {
	key := text
	if longest {
		key = "L" + text
	}
	compiled.Lock()
	if e := compiled.byText[key]; e != nil {
		compiled.order.MoveToFront(e)
		re := e.Value.(*pattern).re
		compiled.Unlock()
		return re, nil
	}
	compiled.Unlock()
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, &sqlstate.Error{Code: sqlstate.InvalidRegularExpression, Message: "invalid regular expression: " + err.Error(),
			Hint: "Back references and lookaround are not supported.", Err: err}
	}
	if longest {
		re.Longest()
	}
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.byText == nil {
		compiled.byText = map[string]*list.Element{}
	}
	if compiled.byText[key] == nil {
		compiled.byText[key] = compiled.order.PushFront(&pattern{key, re})
		if compiled.order.Len() > maxCompiled {
			last := compiled.order.Back()
			delete(compiled.byText, compiled.order.Remove(last).(*pattern).text)
		}
	}
	return re, nil
}
