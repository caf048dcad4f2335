package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"sort"
	"time"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
)

// memberList returns the cluster as this node sees it. Without a cluster, this node is the only member.
func (h *Handlers) memberList(q *call.Request) []Member {
	if h.Members == nil {
		return []Member{{Name: h.Node, Status: "alive", Self: true, HTTP: q.R.Host, Version: h.Version,
			Roles: []string{}}}
	}
	return h.Members.Members()
}

// Membership answers GET /_membership, where client libraries find a node's name.
func (h *Handlers) Membership(q *call.Request) error {
	var all, cluster []string
	for _, m := range h.memberList(q) {
		if m.Status != "left" {
			cluster = append(cluster, m.Name)
		}
		if m.Status == "alive" {
			all = append(all, m.Name)
		}
	}
	sort.Strings(all)
	sort.Strings(cluster)
	b := jsontext.AppendStrings([]byte(`{"all_nodes":`), all)
	b = jsontext.AppendStrings(append(b, `,"cluster_nodes":`...), cluster)
	return q.SendJSON(http.StatusOK, append(b, '}'))
}

// GetMembers answers GET /_members (docs/clauses.md, "HTTP").
func (h *Handlers) GetMembers(q *call.Request) error {
	list := slices.Clone(h.memberList(q))
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	b, err := json.Marshal(map[string]any{"members": list})
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, b)
}

// GetActors answers GET /_actors: the supervision tree.
func (h *Handlers) GetActors(q *call.Request) error {
	if h.Actors == nil {
		return q.SendJSON(http.StatusOK, []byte("{}"))
	}
	tree, err := h.Actors.Tree(q.Ctx())
	if err != nil {
		return err
	}
	return q.SendJSON(http.StatusOK, tree)
}

// ActiveTasks answers GET /_active_tasks.
func (h *Handlers) ActiveTasks(q *call.Request) error {
	var tasks [][]byte
	if h.Tasks != nil {
		var err error
		if tasks, err = h.Tasks.ActiveTasks(q.Ctx()); err != nil {
			return err
		}
	}
	b := []byte{'['}
	for i, task := range tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, task...)
	}
	return q.SendJSON(http.StatusOK, append(b, ']'))
}

// job is what GET /_jobs shows of a job. Its data is left out: it may have passwords.
type job struct {
	Type     string    `json:"type"`
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Worker   string    `json:"worker,omitempty"`
	Token    int64     `json:"token"`
	Failures int       `json:"failures"`
	Error    string    `json:"error,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Due      time.Time `json:"due"`
	Updated  time.Time `json:"updated"`
	Created  time.Time `json:"created,omitzero"`
}

// GetJobs answers GET /_jobs: the background jobs of all nodes, by type and id.
func (h *Handlers) GetJobs(q *call.Request) error {
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, '[')
	first := true
	for j, err := range h.Store.Jobs(q.Ctx()) {
		if err != nil {
			return err
		}
		row, err := json.Marshal(job{j.Type, j.ID, string(j.State), j.Worker, j.Token, j.Failures, j.Error,
			j.FailedAt, j.Due, j.Updated, j.Created})
		if err != nil {
			return err
		}
		if !first {
			s.Buf = append(s.Buf, ',')
		}
		first = false
		s.Buf = append(s.Buf, row...)
		if err := s.Row(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, ']')
	return s.End()
}

// Shards answers GET /{db}/_shards, CouchDB's list of a database's ranges and their nodes: here one range, on every
// node.
func (h *Handlers) Shards(q *call.Request) error {
	var nodes []string
	for _, m := range h.memberList(q) {
		nodes = append(nodes, m.Name)
	}
	if q.Part(2) != "" { // of a document
		b := jsontext.AppendStrings([]byte(`{"range":"00000000-ffffffff","nodes":`), nodes)
		return q.SendJSON(http.StatusOK, append(b, '}'))
	}
	b := jsontext.AppendStrings([]byte(`{"shards":{"00000000-ffffffff":`), nodes)
	return q.SendJSON(http.StatusOK, append(b, "}}"...))
}
