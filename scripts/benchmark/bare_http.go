package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// bareHTTP as the first of two arguments makes this program the server of serveBareHTTP, in the directory that the
// other argument names.
const bareHTTP = "bare-http"

// startBareHTTP starts the simplest possible server for durable writes over HTTP in Go, in a process of its own like a
// node. What a node takes in addition is Divan's cost.
func startBareHTTP(ctx context.Context, dir string) (n *node, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, bareHTTP, dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return &node{base: "http://" + strings.TrimSpace(addr)}, stop, nil
}

// serveBareHTTP appends 1 KB to a file for each request, syncs it and answers. It prints its address, and ends when its
// standard input does.
func serveBareHTTP(ctx context.Context, dir string) (err error) {
	f, err := os.CreateTemp(dir, "bare-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	some := make([]byte, 1024)
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			_, err = f.Write(some)
		}
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		// it does not matter if the client is gone
		_, _ = io.WriteString(w, `{"ok":true,"id":"0000000","rev":"1-967a00dff5e02add41819138abb3284d"}`)
	})}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error ends it as well
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
