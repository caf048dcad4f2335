package fdb

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Status is what a cluster says about itself, as fdbcli's `status` does. What the cluster does not say is nil or empty.
type Status struct {
	At        time.Time
	Available bool
	// Health is the state of the data, such as "healthy" or "healing", with Description in words if there are any.
	Health, Description string
	Redundancy, Engine  string // "triple", "ssd-2"
	Processes, Machines int
	// Coordinators is how many there are, and Reachable how many of them this client reaches.
	Coordinators, Reachable int
	// SpareData and SpareAccess are how many machines may fail before data, or access to it, is lost.
	SpareData, SpareAccess *int
	// Data, Disk, Moving and Free are bytes: of keys and values, of files, of data that is moved between servers, and
	// free on the fullest server.
	Data, Disk, Moving, Free *int64
	// Start, Read and Commit are latencies of the cluster's own probes, in milliseconds.
	Start, Read, Commit *float64
	// Started, Committed and Conflicted are transactions per second.
	Started, Committed, Conflicted *float64
	// Limit says what limits the rate of transactions, and Lag is how many seconds the slowest server is behind.
	Limit string
	Lag   *float64
	// Messages are what the cluster wants its operator to know, at most maxMessages.
	Messages []string
}

const maxMessages = 10

// statusJSON is the part of `status json` that a Status has.
type statusJSON struct {
	Client struct {
		Coordinators struct {
			Coordinators []struct{ Reachable bool }
		}
		Status struct{ Available bool } `json:"database_status"`

		Messages []messageJSON
	}
	Cluster struct {
		Configuration struct {
			Redundancy string `json:"redundancy_mode"`
			Engine     string `json:"storage_engine"`
		}
		Data struct {
			Data   *int64 `json:"total_kv_size_bytes"`
			Disk   *int64 `json:"total_disk_used_bytes"`
			Free   *int64 `json:"least_operating_space_bytes_storage_server"`
			Moving struct {
				Flying *int64 `json:"in_flight_bytes"`
				Queued *int64 `json:"in_queue_bytes"`
			} `json:"moving_data"`
			State struct{ Name, Description string }
		}
		Spare struct {
			Access *int `json:"max_zone_failures_without_losing_availability"`
			Data   *int `json:"max_zone_failures_without_losing_data"`
		} `json:"fault_tolerance"`
		Probe struct {
			Commit *float64 `json:"commit_seconds"`
			Read   *float64 `json:"read_seconds"`
			Start  *float64 `json:"transaction_start_seconds"`
		} `json:"latency_probe"`
		Machines, Processes map[string]struct{}
		QOS                 struct {
			Limited struct{ Description string } `json:"performance_limited_by"`
			Lag     struct{ Seconds *float64 }   `json:"worst_data_lag_storage_server"`
			Slowest struct{ Seconds *float64 }   `json:"limiting_data_lag_storage_server"`
		}
		Workload struct {
			Transactions struct{ Started, Committed, Conflicted struct{ Hz *float64 } }
		}
		Messages []messageJSON
	}
}

type messageJSON struct{ Name, Description string }

// parseStatus reads the value of the key \xff\xff/status/json.
func parseStatus(text []byte, at time.Time) (Status, error) {
	var j statusJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return Status{}, fmt.Errorf("FoundationDB's status: %w", err)
	}
	c := &j.Cluster
	s := Status{At: at.UTC(), Available: j.Client.Status.Available,
		Health: c.Data.State.Name, Description: c.Data.State.Description,
		Redundancy: c.Configuration.Redundancy, Engine: c.Configuration.Engine,
		Processes: len(c.Processes), Machines: len(c.Machines), Coordinators: len(j.Client.Coordinators.Coordinators),
		SpareData: c.Spare.Data, SpareAccess: c.Spare.Access,
		Data: c.Data.Data, Disk: c.Data.Disk, Free: c.Data.Free,
		Start: milliseconds(c.Probe.Start), Read: milliseconds(c.Probe.Read), Commit: milliseconds(c.Probe.Commit),
		Started: c.Workload.Transactions.Started.Hz, Committed: c.Workload.Transactions.Committed.Hz,
		Conflicted: c.Workload.Transactions.Conflicted.Hz,
		Limit:      c.QOS.Limited.Description, Lag: c.QOS.Lag.Seconds}
	for _, one := range j.Client.Coordinators.Coordinators {
		if one.Reachable {
			s.Reachable++
		}
	}
	if s.Lag == nil {
		s.Lag = c.QOS.Slowest.Seconds
	}
	if m := c.Data.Moving; m.Flying != nil && m.Queued != nil {
		sum := *m.Flying + *m.Queued
		s.Moving = &sum
	}
	for _, m := range append(j.Client.Messages, c.Messages...) {
		if len(s.Messages) == maxMessages {
			break
		}
		if m.Description == "" {
			m.Description = m.Name
		}
		s.Messages = append(s.Messages, m.Description)
	}
	return s, nil
}

// milliseconds converts from seconds, to a microsecond.
func milliseconds(seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	ms := math.Round(*seconds*1e6) / 1e3
	return &ms
}
