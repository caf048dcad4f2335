// Package guard stands between Pebble and the files that a store cannot do without, logs, manifests and markers: it
// waits where they cannot be written, stops the engine where they fail, and mends those that are no longer as they were
// written while all they held is in memory. Tables, which can be read past damage, are in package damage.
package guard
