// Package compact removes data that can no longer be read: superseded bodies, attachment data, and old purges. Each
// database has a job for this, which is enqueued when there is enough to remove. Package actors decides which node runs
// the job, and how fast.
package compact
