// Package horizon records what a store's logs and manifests must contain, compares them with that record before the
// store is opened, and keeps a second copy of the manifest. Tables have checksums of their own, see package sst.
package horizon
