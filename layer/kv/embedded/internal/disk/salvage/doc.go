// Package salvage opens for reading what Open refuses: it finds what a store lacks, and shows Pebble files to read in
// the place of those that are missing or damaged. It changes nothing on the disk.
package salvage
