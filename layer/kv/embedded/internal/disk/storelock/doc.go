// Package storelock keeps a store to one engine, and tells who has it. What is in the directory is not looked at here.
package storelock
