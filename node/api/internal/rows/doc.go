// Package rows answers requests for rows: _all_docs and its like, views and their reductions, and the state of their
// indexes. Rows of changes are in package feeds.
package rows
