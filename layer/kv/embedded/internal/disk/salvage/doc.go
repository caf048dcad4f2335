// Package salvage opens stores that Open refuses, for reading only. It finds out what a store lacks, and gives Pebble
// substitutes for missing or damaged files. It changes nothing on disk.
package salvage
