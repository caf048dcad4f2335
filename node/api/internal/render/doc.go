// Package render writes documents as JSON. It streams the data of attachments from the store, so that a gigabyte only
// needs a buffer. Multipart responses are in package docs.
package render
