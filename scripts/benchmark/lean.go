package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// lean sends requests on several connections, one after the other on each, with as little CPU as possible, because it
// shares the processors with the node. request builds the i-th request.
func (n *node) lean(ctx context.Context, connections, requests int, request func(i int) []byte) error {
	conns, closing, err := n.leanConns(ctx, connections)
	if err != nil {
		return err
	}
	return errors.Join(each(connections, requests, func(i int) error { return conns[i%connections].do(request(i)) }),
		closing())
}

// leanConns opens connections for sequential requests.
func (n *node) leanConns(ctx context.Context, connections int) (conns []*leanConn, closing func() error, err error) {
	closing = func() error {
		for _, c := range conns {
			_ = c.Close() // nothing is left to send
		}
		return nil
	}
	for range connections {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(n.base, "http://"))
		if err != nil {
			return nil, nil, errors.Join(err, closing())
		}
		conns = append(conns, &leanConn{Conn: c, r: bufio.NewReaderSize(c, 16<<10)})
	}
	return conns, closing, nil
}

func get(path string) []byte { return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: divan\r\n\r\n", path) }

func post(path string, body []byte) []byte { return send("POST", path, body) }

func put(path string, body []byte) []byte { return send("PUT", path, body) }

func send(method, path string, body []byte) []byte {
	head := fmt.Appendf(nil,
		"%s %s HTTP/1.1\r\nHost: divan\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", method, path,
		len(body))
	return append(head, body...)
}

type leanConn struct {
	net.Conn
	r    *bufio.Reader
	body []byte // of the last response
}

var errAnswer = errors.New("not an HTTP response")

// do sends a request and reads the response to its end.
func (c *leanConn) do(request []byte) error { return c.read(request, nil) }

// ask is do, and returns the response's body, which is valid until the next call.
func (c *leanConn) ask(request []byte) ([]byte, error) {
	c.body = c.body[:0]
	err := c.read(request, func(n int) error {
		from := len(c.body)
		c.body = append(c.body, make([]byte, n)...)
		_, err := io.ReadFull(c.r, c.body[from:])
		return err
	})
	return c.body, err
}

// read sends a request and passes the parts of the response's body to take, as the number of bytes to read next.
func (c *leanConn) read(request []byte, take func(n int) error) error {
	if take == nil {
		take = func(n int) error {
			_, err := c.r.Discard(n)
			return err
		}
	}
	if _, err := c.Write(request); err != nil {
		return err
	}
	status, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(status) < 12 || status[9] != '2' {
		// Slow, but it happens only once, since it ends the measurement.
		res, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(status)), c.r)), nil)
		if err != nil {
			return errAnswer
		}
		text, _ := io.ReadAll(io.LimitReader(res.Body, 500)) // only for the message
		return errors.Join(fmt.Errorf("%.100s: %s %s", request, res.Status, text), res.Body.Close())
	}
	length, chunked := 0, false
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); strings.ToLower(string(name)) {
		case "content-length":
			if _, err := fmt.Sscan(string(value), &length); err != nil {
				return errAnswer
			}
		case "transfer-encoding":
			chunked = string(value) == "chunked"
		}
	}
	for chunked {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		size := 0
		if _, err := fmt.Sscanf(string(line), "%x", &size); err != nil {
			return errAnswer
		}
		if err := take(size); err != nil {
			return err
		}
		if _, err := c.r.Discard(2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
	return take(length)
}
