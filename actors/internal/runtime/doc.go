// Package runtime runs actors: the shell that makes a protoactor actor of a behavior and does its I/O, the supervision
// that restarts it, and the tree with what is known of each actor. What actors are for is the other packages' business.
package runtime
