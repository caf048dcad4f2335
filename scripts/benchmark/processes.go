package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processes returns a function that adds up the processor time of all processes of a PostgreSQL server, with those that
// have ended, such as parallel workers.
func (s *sqlServer) processes(ctx context.Context) (cpu func() time.Duration, err error) {
	results, err := s.conns[0].Exec(ctx, "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return nil, err
	}
	backend, err := procStat(string(results[0].Rows[0][0]))
	if err != nil {
		return nil, err
	}
	server := backend.parent
	return func() time.Duration {
		first, err := procStat(server)
		if err != nil {
			return 0
		}
		sum := first.used + first.children
		stats, _ := filepath.Glob("/proc/[0-9]*/stat") // only a bad pattern is an error
		for _, path := range stats {
			if p, err := procStat(filepath.Base(filepath.Dir(path))); err == nil && p.parent == server {
				sum += p.used
			}
		}
		return sum
	}, nil
}

// proc is what Linux tells of a process.
type proc struct {
	parent         string
	used, children time.Duration // children: of those that have ended and were waited for
}

func procStat(pid string) (p proc, err error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return p, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before it may contain spaces
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return p, fmt.Errorf("/proc/%s/stat has %d fields", pid, len(fields))
	}
	p.parent = fields[1]
	for i, into := range []*time.Duration{&p.used, &p.used, &p.children, &p.children} {
		ticks, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return p, err
		}
		*into += time.Duration(ticks) * (time.Second / 100)
	}
	return p, nil
}

// freePort returns a port of the loopback interface that nothing listens on at the moment.
func freePort() (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", err
	}
	return port, l.Close()
}
