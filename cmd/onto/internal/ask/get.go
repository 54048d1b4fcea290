package ask

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Get is the verb get: one thing at one moment.
func Get(c *session.Session) *cobra.Command {
	var asOf string
	var asStored bool
	cmd := session.OnThing(c, &cobra.Command{
		Use:   "get",
		Short: "Show one entity, relation or fact",
		Long: `Show one entity, relation or fact by its key, now or as of an earlier moment, with the
commit that made it so. Nothing is cut. With --json it is one document, as a row of query.

Of a tenant, named with --vaults, the shard is asked that the key leads to, and a commit id is
one of that shard. A key is written as the store has it: shard key, slash and id where these differ.

What does not exist ends with exit status 9, and a hint: a similar key, or the moment at
which it was still there.`,
		Example: `  onto get Customer c1
  onto get Customer c1 --as-of 2026-02-10 --json
  onto get Subscription c1 p1
  onto get Employment ada acme 2026
  onto get Contract/ada/salary/f1 --as-stored
  onto get Message lobby/m1 --vaults vaults.yaml --tenant acme`,
	}, func(cmd *cobra.Command, t session.Thing) error { return get(cmd.Context(), c, t, asOf, asStored) })
	cmd.Flags().StringVar(&asOf, "as-of", "", session.MomentUsage)
	cmd.Flags().BoolVar(&asStored, "as-stored", false, session.AsStoredUsage)
	c.RegisterVaults(cmd.Flags())
	return cmd
}

func get(ctx context.Context, c *session.Session, t session.Thing, asOf string, asStored bool) error {
	a := asked{queryFlags: &queryFlags{asOf: asOf, asStored: asStored}}
	if asOf != "" {
		var err error
		if a.point, err = session.ParsePoint(asOf); err != nil {
			return err
		}
	}
	return c.WithStoreOf(ctx, t, func(s *store.Store) error {
		if err := a.pin(ctx, s); err != nil {
			return err
		}
		v := a.view(s)
		id, err := t.IdentityIn(v)
		if err != nil {
			return err
		}
		found, err := v.Get(ctx, id)
		if onto.CodeOf(err) == onto.NotFound {
			err = a.notFound(ctx, s, id, err)
		}
		if err != nil {
			return err
		}
		return a.show(c, s, present(found))
	})
}

// show prints a version with a line for each column of a query.
func (a *asked) show(c *session.Session, s *store.Store, v row) error {
	shape, err := newShape(a.view(s), v.Value.Kind, v.Value.Type, false)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Document(shape.document(v))
	}
	cells, err := shape.cells(v)
	if err != nil {
		return err
	}
	out := terminal.NewList(c.Printer, terminal.FormatTable, terminal.WholeColumns("field", "value"),
		terminal.Itself[[]string], func(row []string) ([]string, error) { return row, nil })
	var names []string
	for _, column := range shape.columns {
		names = append(names, column.Name)
	}
	for i, name := range names {
		if err := out.Add([]string{name, cells[i]}); err != nil {
			return err
		}
	}
	return out.Close("")
}

// notFound adds to the error about a thing that does not exist at the moment asked about
// when it did, or which one has a similar key.
func (a *asked) notFound(ctx context.Context, s *store.Store, id onto.Identity, err error) error {
	if at, momentErr := a.view(s).Commit(ctx); momentErr == nil {
		if past := pastOf(ctx, s, id, at.ID, a.asStored); past != nil {
			return past
		}
	}
	missing := onto.Errorf(onto.NotFound, "%w", err)
	switch {
	case onto.HintOf(err).Text != "":
		return err
	case id.Kind == onto.KindRelation:
		return missing.WithHint("see the relations from its left end").WithCommand("query", "relations", id.Type, "--left", id.Left)
	case id.Kind == onto.KindFact:
		return missing.WithHint("see the facts about its subject").WithCommand("query", "facts", id.Type, "--subject", id.Left)
	}
	if near := a.view(s).SimilarKey(ctx, id); near != "" {
		return missing.WithHint("a similar key exists").WithCommand(getCommand(onto.EntityID(id.Type, near), a.asOf)...)
	}
	return missing.WithHint("see those that exist").WithCommand("query", "entities", id.Type)
}

// pastOf is the error for a thing that existed before the commit at, or begins to exist
// after it; nil if it never did.
func pastOf(ctx context.Context, s *store.Store, id onto.Identity, at int64, asStored bool) error {
	var last, next onto.Version
	for e, err := range viewOf(s, onto.Point{}, asStored).History(ctx, id) {
		if err != nil {
			return nil // there is no past, or it cannot be read: then the plain error stays
		}
		if e.Version.Commit > at {
			next = e.Version
			break
		}
		last = e.Version
	}
	switch {
	case last.Commit != 0 && !last.Live():
		how := "deleted"
		if id.Kind == onto.KindFact {
			how = "retracted"
		}
		return onto.Errorf(onto.NotFound, "%s was %s by commit %d", id, how, last.Commit).
			WithHint("log has all its versions; this is the one before").
			WithCommand(getCommand(id, strconv.FormatInt(last.Commit-1, 10))...)
	case last.Commit == 0 && next.Commit != 0:
		return onto.Errorf(onto.NotFound, "%s does not exist as of commit %d: commit %d made it", id, at, next.Commit).
			WithHint("log has all its versions; this is the first").
			WithCommand(getCommand(id, strconv.FormatInt(next.Commit, 10))...)
	}
	return nil
}

// getCommand shows a thing as of a moment; "" is the present.
func getCommand(id onto.Identity, asOf string) []string {
	command, parts := []string{"get"}, []string{id.Type, id.Key}
	switch id.Kind {
	case onto.KindFact:
		parts = []string{id.FactRef()}
	case onto.KindRelation:
		parts = []string{id.Type, id.Left, id.Right}
		if id.Instance != "" {
			parts = append(parts, id.Instance)
		}
	}
	if slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, "-") }) {
		parts = append([]string{"--"}, parts...) // no flags after it
		if asOf != "" {
			command = append(command, "--as-of", asOf)
		}
	} else if asOf != "" {
		parts = append(parts, "--as-of", asOf)
	}
	return append(command, parts...)
}
