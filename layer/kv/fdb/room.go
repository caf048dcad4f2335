package fdb

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Room knows a cluster's free space, as of the last Ask. It is safe for concurrent use.
type Room struct {
	// Status asks the cluster.
	Status func(ctx context.Context) (Status, error)
	last   atomic.Pointer[Status]
}

const (
	roomWithin = 5 * time.Second
	// clusterLow is the free space below which the operator is told. FoundationDB slows writes down when a server has
	// less than 5 % or 100 MB left, which it has already taken off what it says is free.
	clusterLow = 1 << 30
)

// Ask asks the cluster, for at most five seconds. What was known stays if it does not answer.
func (r *Room) Ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomWithin)
	defer cancel()
	if s, err := r.Status(ctx); err == nil { // otherwise the store does not answer, for which there are other signs
		r.last.Store(&s)
	}
}

// FreeBytes returns the recent free space on the fullest server. ok is false if the cluster has not told.
func (r *Room) FreeBytes() (free int64, ok bool) {
	s := r.last.Load()
	if s == nil || s.Free == nil {
		return 0, false
	}
	return *s.Free, true
}

// DiskLow reports whether that server will soon be full, and says so.
func (r *Room) DiskLow() (text string, low bool) {
	s := r.last.Load()
	switch {
	case s == nil:
		return "", false
	case strings.Contains(strings.ToLower(s.Limit), "running out of space"):
		return "FoundationDB slows writes down: " + s.Limit, true
	case s.Free != nil && *s.Free < clusterLow:
		return fmt.Sprintf("the fullest server of FoundationDB has %.1f MB left before writes are slowed down: add "+
			"disks or servers", max(0, float64(*s.Free))/1e6), true
	}
	return "", false
}
