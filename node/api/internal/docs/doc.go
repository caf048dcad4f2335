// Package docs answers for documents: GET, PUT, DELETE and COPY of one, with its attachments and as multipart
// (Handlers), and writes and reads of many at a time, with the questions that replicators ask about revisions (Bulk).
// The layer decides what a write does, and package render how a document looks.
package docs
