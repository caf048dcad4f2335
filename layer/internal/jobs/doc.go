// Package jobs is the queue of background jobs (clause V3): one record for each, workers that hold it by heartbeats,
// and a sweep of what has finished. A job has a type, an id and bytes; what is to be done is for its worker to know.
package jobs
