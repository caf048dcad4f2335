// Package docs answers for documents: GET, PUT, DELETE and COPY of one, with its attachments and as multipart
// (Handlers), and writes and reads of many at a time, with the questions that replicators ask about revisions (Bulk).
// What a write does is decided by the layer; what a document looks like, by package render.
package docs
