package jobs

import "encoding/json"

// IndexJobs is the type of jobs that build indexes.
const IndexJobs = "index"

// CleanupJobs is the type of jobs that remove unused indexes (V8). Their ids are database names.
const CleanupJobs = "cleanup"

// IndexJob is the data of a job that builds an index.
type IndexJob struct {
	Database  string `json:"database"`
	Design    string `json:"design"`
	Signature string `json:"signature"`
}

// ID returns the job's id. There is one job for each index.
func (j IndexJob) ID() string { return j.Database + "/" + j.Signature }

// Encode returns the job's data.
func (j IndexJob) Encode() []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // cannot happen: three strings
	}
	return b
}
