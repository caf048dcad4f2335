// Package feeds answers _changes in all its forms, and for the shards that a feed is made of. feed.go is one feed under
// way, filter.go what it shows, write.go how it is written; tail.go lets all who wait for a database share one reading
// of what is new. Who is woken when is decided by actors.
package feeds
