package filtertest

import (
	"encoding/json"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/filter"
)

// describe writes a question for messages.
func describe(q *backend.Query) string {
	text := fmt.Sprintf("%s %s", q.Kind, q.Type)
	for _, part := range []struct {
		name string
		set  bool
		text string
	}{
		{"history since", q.Mode == backend.History, fmt.Sprint(q.Since)},
		{"at", q.At != backend.Head, fmt.Sprint(q.At)},
		{"without schema", q.Schema == nil, ""},
		{"of", q.Identity != nil, fmt.Sprint(q.Identity)},
		{"keys", q.Keys != nil, fmt.Sprintf("%q", q.Keys)},
		{"left keys", q.LeftKeys != nil, fmt.Sprintf("%q", q.LeftKeys)},
		{"right keys", q.RightKeys != nil, fmt.Sprintf("%q", q.RightKeys)},
		{"where", q.Where != nil, filter.Format(q.Where)},
		{"search", len(q.Search) > 0, fmt.Sprintf("%+v", q.Search)},
		{"order", len(q.Order) > 0, orders(q.Order)},
		{"after", q.After != nil, showPlace(q.After)},
		{"offset", q.Offset > 0, fmt.Sprint(q.Offset)},
		{"limit", q.Limit > 0, fmt.Sprint(q.Limit)},
	} {
		if part.set {
			text += "; " + part.name + " " + part.text
		}
	}
	return text
}

func orders(list []onto.Order) string {
	var text []string
	for _, o := range list {
		name := filter.FormatOperand(o.Operand)
		if o.Desc {
			name += ":desc"
		}
		text = append(text, name)
	}
	return fmt.Sprint(text)
}

func showPlace(p *backend.Place) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s at %s@%d", texts(p.Values), keyOf(p.Identity), p.Commit)
}

// texts writes canonical values, nil as null.
func texts(values []json.RawMessage) []string {
	list := make([]string, len(values))
	for i, v := range values {
		if list[i] = string(v); v == nil {
			list[i] = "null"
		}
	}
	return list
}
