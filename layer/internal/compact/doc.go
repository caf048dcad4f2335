// Package compact removes what nobody can read any more: superseded bodies, data of attachments, the history of purges.
// A job for each database does it where enough has come together. Who runs that job, and how fast, is decided in
// actors.
package compact
