// Package sst reads tables from disk, block by block, and makes substitutes for damaged blocks and tables. Package
// damage tracks which tables are damaged and reacts.
package sst
