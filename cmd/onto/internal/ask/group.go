package ask

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// groupFlags is what to group by and to compute.
type groupFlags struct {
	by, compute []onto.Operand
	having      onto.Filter // nil for none
}

// groups reads the flags of groups; nil if there are none.
func (q *queryFlags) groups(cmd *cobra.Command) (*groupFlags, error) {
	if len(q.groupBy) == 0 && !cmd.Flags().Changed("agg") {
		if q.having != "" {
			return nil, onto.Errorf(onto.Invalid, "--having is for groups").WithHint("add --agg or --group-by, or use --where")
		}
		return nil, nil
	}
	if q.cursor != "" {
		return nil, onto.Errorf(onto.Invalid, "--cursor does not go with groups").WithHint("page them with --limit and --offset")
	}
	if q.page {
		return nil, onto.Errorf(onto.Invalid, "--page does not go with groups").WithHint("page them with --limit and --offset")
	}
	g := &groupFlags{}
	for _, text := range q.groupBy {
		o, err := filter.ParseOperand(text)
		if err != nil {
			return nil, inFilter("group-by", text, err)
		}
		g.by = addOnce(g.by, o)
	}
	agg := strings.Join(q.agg, ",")
	if len(q.agg) == 0 {
		agg = string(onto.FuncCount)
	}
	for _, text := range splitList(agg) {
		o, err := filter.ParseOperand(text)
		if err != nil {
			return nil, inFilter("agg", text, err)
		}
		g.compute = addOnce(g.compute, o)
	}
	if q.having == "" {
		return g, nil
	}
	having, err := filter.ParseHaving(q.having)
	if err != nil {
		return nil, inFilter("having", q.having, err)
	}
	g.having = having
	return g, nil
}

// addOnce adds an operand unless the list has it: a row has each name once.
func addOnce(list []onto.Operand, o onto.Operand) []onto.Operand {
	name := filter.FormatOperand(o)
	if slices.ContainsFunc(list, func(has onto.Operand) bool { return filter.FormatOperand(has) == name }) {
		return list
	}
	return append(list, o)
}

// splitList splits at commas, except inside quotes.
func splitList(s string) []string {
	var items []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			items = append(items, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(items, strings.TrimSpace(s[start:]))
}

// queryGroups prints groups.
func queryGroups(ctx context.Context, c *session.Session, s *store.Store, f *groupFlags, a asked) error {
	groups := a.find(s).GroupBy(f.by...).Compute(f.compute...).OrderBy(a.order...).Offset(a.offset)
	if a.limit > 0 {
		groups = groups.Limit(a.limit + 1) // one more tells whether there are more
	}
	if a.history {
		groups = groups.OfVersions(a.since)
	}
	if f.having != nil {
		groups = groups.Having(f.having)
	}
	if a.explain {
		explained, err := groups.Explain(ctx)
		return explain(c, a, explained, err)
	}
	var names []string
	for _, list := range [][]onto.Operand{f.by, f.compute} {
		for _, o := range list {
			names = append(names, filter.FormatOperand(o))
		}
	}
	doc := func(g onto.Group) document.Group {
		return document.Group{Names: names, Values: append(g.By, g.Values...)}
	}
	out, more := terminal.NewList(c.Printer, a.format, terminal.Columns(names...), doc, groupCells), false
	err := session.Each(groups.All(ctx), func(g onto.Group) error {
		if more = a.limit > 0 && out.N == a.limit; more {
			return nil
		}
		return out.Add(g)
	})
	if err == nil {
		err = out.Close(a.none(ctx, s, "groups"))
	}
	if err == nil && more {
		c.Say("more: --offset %d", a.offset+a.limit)
	}
	return err
}

func groupCells(g onto.Group) ([]string, error) {
	cells := make([]string, 0, len(g.By)+len(g.Values))
	for _, v := range append(g.By, g.Values...) {
		cell := ""
		if v != nil {
			cell = terminal.Cell(v)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}
