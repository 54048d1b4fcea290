package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Blame is the verb blame: who last set each field of one thing.
func Blame(c *session.Session) *cobra.Command {
	var asStored bool
	cmd := session.OnThing(c, &cobra.Command{
		Use:   "blame",
		Short: "Show who last set each field of one thing",
		Long: `Show, for each field of one entity, relation or fact, the commit that set it to its
present value. A value that a migration made, by a default or an upgrader, is the
migration's; one that it moved to another name is still that of the commit that
gave it. With --as-stored, fields are compared as they were written, so a field
that was renamed is the migration's.`,
		Example: `  onto blame Customer c1
  onto blame Customer c1 --as-stored
  onto blame Subscription c1 p1 --json
  onto blame Contract/ada/salary/f1`,
	}, func(cmd *cobra.Command, t session.Thing) error { return blame(cmd.Context(), c, t, asStored) })
	cmd.Flags().BoolVar(&asStored, "as-stored", false, session.AsStoredUsage)
	return cmd
}

func blame(ctx context.Context, c *session.Session, t session.Thing, asStored bool) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		id, err := t.Identity(s)
		if err != nil {
			return err
		}
		view := viewOf(s, onto.Point{}, asStored)
		fields, err := view.Blame(ctx, id)
		if err != nil {
			return err
		}
		schema, err := view.Type(id.Type)
		if err != nil {
			return err
		}
		out := terminal.Rows(c.Printer, slices.Concat(
			terminal.WholeColumns("field"), terminal.Columns("value"), terminal.WholeColumns("commit", "time"), terminal.Columns("actor", "comment")), document.NewBlame, func(b onto.Blame) ([]string, error) { return blameCells(schema, b), nil })
		for _, b := range fields {
			if err := out.Add(b); err != nil {
				return err
			}
		}
		return out.Close("no fields")
	})
}

func blameCells(schema onto.Schema, b onto.Blame) []string {
	f, _ := schema.Field(b.Field)
	cells := slices.Concat([]string{b.Field, terminal.FieldCell(f.Type, b.Value)}, when(b.Commit), who(b.Commit))
	if b.Migration != nil {
		last := &cells[len(cells)-1]
		*last = strings.TrimSpace(fmt.Sprintf("%s (made by the migration to version %d)", *last, b.Migration.Version))
	}
	return cells
}
