package conns

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/divandb/divan/node/api/internal/fault"
)

// net/http answers a request that it cannot read, such as one with a malformed escape in its path, with a line of text
// and these headers. Its handlers' answers have others too.
var unreadHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// unread returns the answer to such a request in the API's form, or nil if p is something else. It does not see what
// TLS encrypts.
func unread(p []byte) []byte {
	const version = "HTTP/1.1 "
	if len(p) > 1<<10 || !bytes.HasPrefix(p, []byte(version)) {
		return nil
	}
	line, text, ok := bytes.Cut(p[len(version):], unreadHeaders)
	status, _, _ := bytes.Cut(line, []byte(" "))
	code, err := strconv.Atoi(string(status))
	if !ok || bytes.Contains(line, []byte("\r\n")) || err != nil {
		return nil
	}
	f := fault.Fault{Status: code, Name: "bad_request", Reason: string(text)}
	switch {
	case string(text) == "400 Bad Request":
		f.Reason = "The request line, an escape in its path, or a header is malformed."
	case code == http.StatusNotImplemented:
		f.Name = "not_implemented"
	}
	body := append(f.Append([]byte{'{'}), "}\n"...)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n\r\n%s", code, http.StatusText(code), len(body), body)
}
