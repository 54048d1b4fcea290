package ask

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// Info is the verb info: where a store is and what it holds.
func Info(c *session.Session) *cobra.Command {
	var stats, schema bool
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Show where the store is and what it holds",
		Long: `Show backend, location, head, size and types; with --stats how much there is of
each type, with --schema the types themselves. The size of a lake is that of the
files which answers are read from, with --stats that of all its objects.`,
		Example: `  onto info
  onto info --stats --json
  onto info --schema --db crm.db`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return showInfo(cmd.Context(), c, stats, schema) },
	}
	cmd.Flags().BoolVar(&stats, "stats", false, "count what there is of each type")
	cmd.Flags().BoolVar(&schema, "schema", false, "show the types' fields")
	return cmd
}

func showInfo(ctx context.Context, c *session.Session, stats, schema bool) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		doc, head, err := describe(ctx, s, c.Place(), stats)
		if err != nil {
			return err
		}
		var versions []onto.SchemaVersion
		var folds []schemafile.Fold
		if schema {
			if versions, err = newestSchemas(ctx, s); err != nil {
				return err
			}
			if folds, err = exportedFolds(ctx, s, versions); err != nil {
				return err
			}
		}
		if c.JSON {
			for _, v := range versions {
				doc.Schemas = append(doc.Schemas, document.NewSchema(v))
			}
			return c.Document(doc)
		}
		if err := printInfo(c, doc, head, stats); err != nil || !schema || len(versions) == 0 {
			return err
		}
		if err := c.Out.Line(""); err != nil {
			return err
		}
		return printSchemas(c, versions, folds)
	})
}

func newestSchemas(ctx context.Context, s *store.Store) ([]onto.SchemaVersion, error) {
	all, err := s.Schemas(ctx)
	return typelist.Newest(declared(all)), err
}

// describe describes a store, and returns its head.
func describe(ctx context.Context, s *store.Store, where place.Location, stats bool) (document.Info, onto.Commit, error) {
	info, err := where.Describe(ctx, s.Backend(), stats)
	if err != nil {
		return document.Info{}, onto.Commit{}, err
	}
	head, err := s.Head(ctx)
	doc := document.NewInfo(info, head, stats)
	if x, ok := backend.As[backend.Indexer](s.Backend()); ok && err == nil {
		err = describeIndexes(ctx, x, &doc)
	}
	return doc, head, err
}

// describeIndexes adds what is wrong with the indexes of a lake.
func describeIndexes(ctx context.Context, x backend.Indexer, doc *document.Info) error {
	doc.IndexWarning = x.LastIndexWarning()
	found, err := x.VerifyIndex(ctx)
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		doc.Warnings = append(doc.Warnings, "the indexes for other programs could not be examined: "+err.Error())
	case len(found) > 0:
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("the indexes for other programs have %s, the first of which is: %s",
			terminal.Count(len(found), "finding", "findings"), found[0].Message))
	}
	return nil
}

func printInfo(c *session.Session, doc document.Info, head onto.Commit, stats bool) error {
	err := c.Pairs([][2]string{
		{"backend", doc.Backend},
		{"location", doc.Location},
		{"format", known(doc.Format != 0, strconv.Itoa(doc.Format))},
		{"store id", doc.StoreID},
		{"head", terminal.Head(head)},
		{"size", known(doc.Bytes != 0, terminal.Bytes(doc.Bytes)+sizeOf(c.Place(), stats))},
		{"index", doc.IndexWarning},
		{"restored", lastRestore(doc.Restores)},
	})
	if err != nil {
		return err
	}
	for _, w := range doc.Warnings {
		c.Say("warning: %s", w)
	}
	if len(doc.Types) == 0 {
		c.SayNext("no types; register some", "init", "--schema", "FILE")
		return nil
	}
	cols := terminal.WholeColumns("type", "kind", "version")
	if stats {
		cols = append(cols, terminal.WholeColumns("live", "versions")...)
	}
	if err := c.Out.Line(""); err != nil {
		return err
	}
	out := terminal.NewList(c.Printer, terminal.FormatTable, cols, terminal.Itself, typeCells)
	for _, t := range doc.Types {
		if err := out.Add(t); err != nil {
			return err
		}
	}
	return out.Close("")
}

// lastRestore tells of the last restore of a store; "" if there was none.
func lastRestore(list []document.Restoration) string {
	if len(list) == 0 {
		return ""
	}
	r := list[len(list)-1]
	text := fmt.Sprintf("%s, from commit %d to %d, %s lost", r.Time, r.Before, r.Head, terminal.Count(r.Lost, "commit", "commits"))
	if r.Actor != nil {
		text += ", " + *r.Actor
	}
	if r.Comment != nil {
		text += ": " + *r.Comment
	}
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf("; %s before", terminal.Count(int64(n), "restore", "restores"))
	}
	return text
}

func typeCells(t document.Type) ([]string, error) {
	cells := []string{t.Type, string(t.Kind), strconv.Itoa(t.Version)}
	if t.Live != nil {
		cells = append(cells, strconv.FormatInt(*t.Live, 10), strconv.FormatInt(*t.Versions, 10))
	}
	return cells, nil
}

// sizeOf says what the size of a lake includes.
func sizeOf(where place.Location, stats bool) string {
	switch {
	case !where.IsLake():
		return ""
	case stats:
		return " (all objects)"
	}
	return " (files)"
}

// known is a text, or "" if it is not known.
func known(is bool, text string) string {
	if is {
		return text
	}
	return ""
}
