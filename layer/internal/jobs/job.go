package jobs

import "encoding/json"

// IndexJobs is the type of jobs that build indexes.
const IndexJobs = "index"

// CleanupJobs is the type of jobs that remove unused indexes (V8); their ids are names of databases.
const CleanupJobs = "cleanup"

// IndexJob is the data of a job that builds an index.
type IndexJob struct {
	Database  string `json:"database"`
	Design    string `json:"design"`
	Signature string `json:"signature"`
}

// ID names the job: there is one for each index.
func (j IndexJob) ID() string { return j.Database + "/" + j.Signature }

// Encode is the job's data.
func (j IndexJob) Encode() []byte {
	b, err := json.Marshal(j)
	if err != nil {
		panic(err) // three strings
	}
	return b
}
