// Package failure has the errors with which the embedded engine answers, and tells errors of the system apart: a full
// disk, files that may not be used, damage. What follows from an error is decided where it is met.
package failure
