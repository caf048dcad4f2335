// Package jobs takes jobs from the store's queue (clause V3): an actor for each type waits until one is due, claims it,
// and hands it over or does it at once. What a job is about is known by the packages that take it.
package jobs
