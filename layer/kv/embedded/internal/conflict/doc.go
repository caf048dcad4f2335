// Package conflict knows what was written at which version in the last seconds, and so whether what a transaction has
// read still holds at its commit. It keeps no values, and the order of commits is decided in package commit.
package conflict
