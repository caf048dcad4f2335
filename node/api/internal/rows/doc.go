// Package rows answers with rows: _all_docs and its like, views and their reductions, and what is known of the indexes
// behind these. Rows of changes are package feeds'.
package rows
