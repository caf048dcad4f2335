// Package runtime runs actors: the shell that turns a behavior into a protoactor actor and does its I/O, the
// supervision that restarts actors, and the tree with the state of each actor. It does not know what actors are for.
package runtime
