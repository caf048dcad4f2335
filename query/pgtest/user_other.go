//go:build !unix

package pgtest

import "syscall"

// asUser runs the server as whoever runs the test.
func asUser(string) (*syscall.SysProcAttr, error) { return nil, nil }
