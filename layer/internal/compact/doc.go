// Package compact removes what nobody can read any more: superseded bodies, data of attachments, the history of purges. A
// job for each database does it where enough has come together.
package compact
