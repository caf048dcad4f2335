// Package keys is about keys and ranges of them: spans, sets of spans, memory for copies, and which keys are legal.
// What is stored under a key is nobody's business here.
package keys
