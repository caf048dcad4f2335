// Package jobs takes jobs from the store's queue (clause V3). An actor for each type waits until a job is due, claims
// it, and hands it over or does it immediately. What the jobs are about belongs to the packages that use it.
package jobs
