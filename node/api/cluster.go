package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"sort"
)

// memberList is the cluster as this node sees it; a node without a cluster is its only member.
func (q *request) memberList() []Member {
	if q.srv.o.Members == nil {
		return []Member{{Name: q.srv.o.Node, Status: "alive", Self: true, HTTP: q.r.Host, Version: q.srv.o.Version, Roles: []string{}}}
	}
	return q.srv.o.Members.Members()
}

// membership answers GET /_membership: client libraries find a node's name here.
func (q *request) membership() error {
	var all, cluster []string
	for _, m := range q.memberList() {
		if m.Status != "left" {
			cluster = append(cluster, m.Name)
		}
		if m.Status == "alive" {
			all = append(all, m.Name)
		}
	}
	sort.Strings(all)
	sort.Strings(cluster)
	b := appendStrings([]byte(`{"all_nodes":`), all)
	b = appendStrings(append(b, `,"cluster_nodes":`...), cluster)
	return q.sendJSON(http.StatusOK, append(b, '}'))
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
}

// members answers GET /_members (docs/clauses.md, "HTTP").
func (q *request) members() error {
	list := slices.Clone(q.memberList())
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	b, err := json.Marshal(map[string]any{"members": list})
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, b)
}

// actors answers GET /_actors: the supervision tree.
func (q *request) actors() error {
	if q.srv.o.Actors == nil {
		return q.sendJSON(http.StatusOK, []byte("{}"))
	}
	tree, err := q.srv.o.Actors.Tree(q.ctx())
	if err != nil {
		return err
	}
	return q.sendJSON(http.StatusOK, tree)
}

// activeTasks answers GET /_active_tasks.
func (q *request) activeTasks() error {
	var tasks [][]byte
	if q.srv.o.Tasks != nil {
		var err error
		if tasks, err = q.srv.o.Tasks.ActiveTasks(q.ctx()); err != nil {
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
	return q.sendJSON(http.StatusOK, append(b, ']'))
}
