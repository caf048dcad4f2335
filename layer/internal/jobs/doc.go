// Package jobs is the queue of background jobs (clause V3): one record for each, workers that hold it by heartbeats, and
// a sweep of what has finished.
package jobs
