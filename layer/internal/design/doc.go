// Package design parses design documents, and compiles their functions once. Running map functions over documents is
// in package build, and validations in package write.
package design
