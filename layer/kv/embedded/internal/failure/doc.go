// Package failure defines the embedded engine's errors and classifies errors of the system: a full disk, files
// without permission, damage. The callers decide how to react.
package failure
