// Package design parses design documents, and compiles their functions once.
package design
