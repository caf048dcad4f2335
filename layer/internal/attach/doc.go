// Package attach stores the data of attachments: uploads in many transactions, references to the data, and its removal
// with the last of them. What a document says of its attachments is in its body, which packages rev and write have.
package attach
