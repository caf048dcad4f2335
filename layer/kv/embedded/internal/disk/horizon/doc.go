// Package horizon remembers what the logs and manifests of a store must still hold, and compares them with it before
// the store is opened; and it keeps a second copy of the manifest. Tables have checksums of their own, see package sst.
package horizon
