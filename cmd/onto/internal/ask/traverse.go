package ask

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/filter"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

func traverseCommand(c *session.Session) *cobra.Command {
	q := queryFlags{kind: onto.KindEntity}
	cmd := &cobra.Command{
		Use:   "traverse TYPE",
		Short: "Follow relations from the entities of a type",
		Long: `Follow relations from the entities of a type, hop by hop, at one moment. Each
--via is one hop: --via REL from left to right, --via ~REL from right to left.

--where, --search and --order-by are about the entities to start from, --to is
about those that routes end at. A hop may have a filter of its own, on the
relation and its ends: --via 'REL: $.seats > 3 & right.$.price < 10'.

A route has every hop, leads through entities that exist and meets nothing twice.
--limit is for routes; --count prints how many there are. How filters are
written: onto query --help`,
		Example: `  onto query traverse Customer --via Subscription
  onto query traverse Customer --where '$.tier == "Gold"' --via Subscription --via '~Subscription'
  onto query traverse Customer --via 'Subscription: $.seats > 3' --to '$.sku == "p1"' --count
  onto query traverse Product --via '~Subscription' --as-of 12 --json`,
		Args:              session.ArgCount(1),
		ValidArgsFunction: session.CompleteType(c, onto.KindEntity),
		RunE:              func(cmd *cobra.Command, args []string) error { return traverse(c, cmd, &q, args[0]) },
	}
	q.register(cmd)
	_ = cmd.Flags().MarkHidden("offset") // it is refused, with a hint
	cmd.Flags().StringArrayVar(&q.via, "via", nil, "follow this `RELATION`, or RELATION: FILTER; ~RELATION from right to left; may be repeated")
	cmd.Flags().StringArrayVar(&q.to, "to", nil, "only routes to entities for which this `FILTER` is true; may be repeated")
	cmd.Flags().BoolVar(&q.count, "count", false, "only how many routes there are")
	return cmd
}

func traverse(c *session.Session, cmd *cobra.Command, q *queryFlags, name string) error {
	a, err := readQuery(c, cmd, q, name)
	if err != nil {
		return err
	}
	if len(q.via) == 0 {
		return onto.Errorf(onto.Invalid, "--via is missing").WithHint("say which relation to follow, for example: --via Subscription")
	}
	if q.offset > 0 {
		return onto.Errorf(onto.Invalid, "--offset does not go with a traversal").WithHint("narrow the sources with --where")
	}
	if q.count && (q.limit > 0 || q.explain) {
		return onto.Errorf(onto.Invalid, "--count counts all routes, so --limit and --explain do not go with it").WithHint("leave them out")
	}
	hops, err := q.hops()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		if err := a.pin(ctx, s); err != nil {
			return err
		}
		return routes(ctx, c, s, a, hops)
	})
}

// hops reads --via and --to.
func (q *queryFlags) hops() ([]store.Hop, error) {
	var hops []store.Hop
	for _, via := range q.via {
		relation, text, filtered := strings.Cut(via, ":")
		relation, back := strings.CutPrefix(strings.TrimSpace(relation), "~")
		hop := store.Hop{Relation: relation, Back: back}
		if filtered {
			f, err := filter.Parse(text)
			if err != nil {
				return nil, inFilter("via", via, err)
			}
			hop = hop.Where(f)
		}
		hops = append(hops, hop)
	}
	for _, text := range q.to {
		f, err := filter.Parse(text)
		if err != nil {
			return nil, inFilter("to", text, err)
		}
		hops[len(hops)-1] = hops[len(hops)-1].To(f)
	}
	return hops, nil
}

// routes prints the routes of a traversal.
func routes(ctx context.Context, c *session.Session, s *store.Store, a asked, hops []store.Hop) error {
	from, err := newShape(a.view(s), onto.KindEntity, a.name, false)
	if err != nil {
		return err
	}
	q := a.find(s).OrderBy(a.order...)
	if a.explain {
		explained, err := q.Explain(ctx)
		for _, via := range a.via {
			explained.Process = append(explained.Process, "follow "+via)
		}
		for _, to := range a.to {
			explained.Process = append(explained.Process, "to "+to)
		}
		return explain(c, a, explained, err)
	}
	if a.count {
		n, err := q.Traverse(hops...).Count(ctx)
		return count(c, n, err, a.format)
	}
	out := terminal.NewList(c.Printer, a.format, routeColumns(a.view(s), from, hops), document.NewRoute, routeCells)
	if err := session.Each(q.Traverse(hops...).Limit(a.limit).All(ctx), out.Add); err != nil {
		return err
	}
	return out.Close("no routes")
}

// routeColumns has one column for each entity and relation on a route.
func routeColumns(v store.View, from *shape, hops []store.Hop) []terminal.Column {
	cols := terminal.WholeColumns(from.schema.Name)
	for _, h := range hops {
		schema, err := v.Type(h.Relation)
		if err != nil {
			return cols // told by the traversal
		}
		to := schema.Right
		if h.Back {
			to = schema.Left
		}
		cols = append(cols, terminal.Column{Name: h.Relation})
		cols = append(cols, terminal.WholeColumns(to)...)
	}
	return cols
}

// routeCells shows entities by their keys, relations by their instance and fields.
func routeCells(r store.Route) ([]string, error) {
	cells := []string{r.Source.Key}
	for _, step := range r.Path {
		text := string(step.Relation.Fields)
		if step.Relation.Instance != "" {
			text = step.Relation.Instance + " " + text
		}
		cells = append(cells, text, step.Entity.Key)
	}
	return cells, nil
}
