// Package damage tracks the damaged tables of a store, keeps Pebble from reading their damaged blocks again and
// again, and finds damaged blocks that hold only deleted data. Package sst reads tables, and package guard handles
// damage to other files.
package damage
