// Package feeds answers _changes in all its forms, and requests about changes shards. feed.go runs one feed, filter.go
// decides what it shows, write.go writes it. tail.go lets all feeds that wait for a database share one read of new
// entries. Package actors decides when feeds are woken.
package feeds
