// Package design parses design documents and compiles their functions, once each. Package build runs map functions, and
// package write runs validation functions.
package design
