// Package jobs is the queue of background jobs (clause V3). It stores a record for each job; workers hold a running job
// by heartbeats; finished jobs are swept. A job has a type, an id and data, which only its worker interprets.
package jobs
