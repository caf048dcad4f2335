package mango

import (
	"slices"
	"strconv"

	"github.com/divandb/divan/layer/jsontext"
)

// AppendExplanation appends the answer of _explain.
func (p *Plan) AppendExplanation(dst []byte, database string, partitioned bool) []byte {
	q := p.Query
	dst = jsontext.AppendQuoted(append(dst, `{"dbname":`...), database)
	dst = append(dst, `,"index":`...)
	if p.Index == nil {
		dst = append(dst, "null"...)
	} else {
		dst = p.Index.Append(dst)
	}
	dst = strconv.AppendBool(append(dst, `,"partitioned":`...), partitioned)
	dst = q.Selector.Term().Append(append(dst, `,"selector":`...))
	dst = q.appendOptions(append(dst, `,"opts":`...))
	dst = strconv.AppendInt(append(dst, `,"limit":`...), int64(q.Limit), 10)
	dst = strconv.AppendInt(append(dst, `,"skip":`...), int64(q.Skip), 10)
	dst = q.appendFields(append(dst, `,"fields":`...))
	dst = p.appendCandidates(append(dst, `,"index_candidates":[`...))
	dst = p.appendHints(append(dst, `],"selector_hints":[`...))
	dst = append(dst, ']')
	if p.Index != nil {
		dst = p.appendRead(append(dst, `,"mrargs":`...))
		dst = strconv.AppendBool(append(dst, `,"covering":`...), p.Covered || q.R > 1 && p.covers())
	}
	return append(dst, '}')
}

// appendCandidates appends the indexes that were not chosen, with the reasons.
func (p *Plan) appendCandidates(dst []byte) []byte {
	t := &p.trace
	ranks := t.ranks()
	first := true
	for _, ix := range slices.Backward(t.all) {
		if ix == p.Index {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		out, dropped := t.rejected[ix]
		rank := ranks[out.stage]
		if !dropped {
			out, rank = t.beaten(ix, p.Index)
		}
		dst = ix.Append(append(dst, `{"index":`...))
		dst = strconv.AppendBool(append(dst, `,"analysis":{"usable":`...), out.usable)
		dst = jsontext.AppendQuoted(append(dst, `,"reasons":[{"name":`...), out.reason)
		dst = strconv.AppendInt(append(dst, `}],"ranking":`...), int64(rank), 10)
		dst = append(dst, `,"covering":`...)
		if ix.special() {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendBool(dst, p.Query.Fields != nil && ix.covers(p.Query.Fields.Names()))
		}
		dst = append(dst, '}', '}')
	}
	return dst
}

// ranks returns the rank of the indexes that dropped out at each stage.
func (t *trace) ranks() (ranks [stages]int) {
	rank := max(1, len(t.sorted))
	for stage := stageUnfavored; stage >= 0; stage-- {
		ranks[stage] = rank
		for _, out := range t.rejected {
			if out.stage == stage {
				rank++
				break
			}
		}
	}
	return ranks
}

// beaten returns why a usable index was not the best.
func (t *trace) beaten(ix, best *Index) (out rejection, rank int) {
	rank = slices.IndexFunc(t.sorted, func(r ranked) bool { return r.index == ix })
	reason := "alphabetically_comes_after"
	switch {
	case t.sorted[rank].distance > 0:
		reason = "less_overlap"
	case len(ix.columns()) > len(best.columns()):
		reason = "too_many_fields"
	}
	return rejection{reason: reason, usable: true}, rank
}

// appendHints appends which fields of the selector an index can narrow down.
func (p *Plan) appendHints(dst []byte) []byte {
	term := p.Query.Selector.Term()
	can := indexable(term)
	cannot := slices.DeleteFunc(fieldsOf(term), func(f string) bool { return slices.Contains(can, f) })
	slices.Sort(cannot)
	dst = jsontext.AppendStrings(append(dst, `{"type":"json","indexable_fields":`...), can)
	dst = jsontext.AppendStrings(append(dst, `,"unindexable_fields":`...), slices.Compact(cannot))
	return append(dst, '}')
}

// appendRead appends the range of rows, in the order in which they are read.
func (p *Plan) appendRead(dst []byte) []byte {
	q := p.Query
	low, high := p.bounds()
	direction := "fwd"
	if q.Descending() {
		low, high, direction = high, low, "rev"
	}
	dst = strconv.AppendBool(append(dst, `{"include_docs":`...), !p.Covered && q.R == 1)
	dst = append(dst, `,"view_type":"map","reduce":false,"partition":`...)
	if q.Partition == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsontext.AppendQuoted(dst, q.Partition)
	}
	dst = append(append(dst, `,"start_key":`...), low...)
	dst = append(append(dst, `,"end_key":`...), high...)
	dst = jsontext.AppendQuoted(append(dst, `,"direction":`...), direction)
	dst = strconv.AppendBool(append(dst, `,"stable":`...), q.Stable || q.StaleOK)
	dst = strconv.AppendBool(append(dst, `,"update":`...), q.Update && !q.StaleOK)
	if q.Conflicts {
		return append(dst, `,"conflicts":true}`...)
	}
	return append(dst, `,"conflicts":"undefined"}`...)
}

// bounds returns the ends of the range as JSON.
func (p *Plan) bounds() (low, high []byte) {
	const most = `"<MAX>"`
	switch {
	case p.Nothing && !p.Index.special(), len(p.ranges) == 1 && p.ranges[0].Empty:
		return []byte("null"), []byte("null")
	case p.Index.special():
		low, high = []byte(`""`), []byte(most)
		if r := p.ranges[0]; r.Low.Value != nil {
			low = r.Low.Value
		}
		if r := p.ranges[0]; r.High.Value != nil {
			high = r.High.Value
		}
		return low, high
	}
	s := p.Span
	return List(s.Low), List(append(s.High[:len(s.High):len(s.High)], []byte(most)))
}
