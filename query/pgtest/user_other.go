//go:build !unix

package pgtest

import "syscall"

// asUser runs the server as the current user.
func asUser(string) (*syscall.SysProcAttr, error) { return nil, nil }
