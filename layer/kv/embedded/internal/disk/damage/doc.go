// Package damage knows the damaged tables of a store, keeps Pebble from reading their damaged blocks again and again,
// and finds out which of these nobody can miss any more. How a table is read is in package sst, and damage to other
// files in package guard.
package damage
