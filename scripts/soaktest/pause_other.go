//go:build !unix

package main

import "errors"

var errPause = errors.New("processes cannot be paused on this system")

func (n *node) pause() error  { return errPause }
func (n *node) resume() error { return errPause }
