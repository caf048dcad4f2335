// Package sst reads tables as they lie on the disk, block by block, and makes blocks and tables to read in the place of
// damaged ones. Which tables are damaged, and what follows, is kept in package damage.
package sst
