// Package render writes documents as JSON into answers. Attachments whose data is wanted are streamed from the store,
// so that a gigabyte costs a buffer. Multipart answers are package docs'.
package render
