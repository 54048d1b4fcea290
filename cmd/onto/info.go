package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

func (c *command) infoCommand() *cobra.Command {
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
		Args: argCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.info(cmd.Context(), stats, schema) },
	}
	cmd.Flags().BoolVar(&stats, "stats", false, "count what there is of each type")
	cmd.Flags().BoolVar(&schema, "schema", false, "show the types' fields")
	return cmd
}

// infoDoc describes a store.
type infoDoc struct {
	Backend  string      `json:"backend"`
	Location string      `json:"location"`
	Format   int         `json:"format"`
	StoreID  string      `json:"store_id"`
	Head     headDoc     `json:"head"`
	Bytes    int64       `json:"bytes"`
	Types    []typeRow   `json:"types"`
	Schemas  []schemaRow `json:"schemas,omitempty"`
	Warnings []string    `json:"warnings"`

	IndexWarning string `json:"last_index_warning,omitempty"` // why indexes of a lake could not be written

	head onto.Commit
}

type headDoc struct {
	CommitID  int64   `json:"commit_id"`  // 0 if the store is empty
	CreatedAt *string `json:"created_at"` // null if the store is empty
}

// typeRow is what is stored of a type. The counts are there with --stats.
type typeRow struct {
	Kind     onto.Kind `json:"type_kind"`
	Name     string    `json:"type_name"`
	Version  int       `json:"schema_version_id"`
	Live     *int64    `json:"live,omitempty"`
	Versions *int64    `json:"versions,omitempty"`
}

func (r typeRow) cells() ([]string, error) {
	cells := []string{r.Name, string(r.Kind), strconv.Itoa(r.Version)}
	if r.Live != nil {
		cells = append(cells, strconv.FormatInt(*r.Live, 10), strconv.FormatInt(*r.Versions, 10))
	}
	return cells, nil
}

func (c *command) info(ctx context.Context, stats, schema bool) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		doc, err := describe(ctx, s, c.place(), stats)
		if err != nil {
			return err
		}
		var versions []onto.SchemaVersion
		if schema {
			if versions, err = newestSchemas(ctx, s); err != nil {
				return err
			}
		}
		if c.json {
			for _, v := range versions {
				doc.Schemas = append(doc.Schemas, newSchemaRow(v))
			}
			return c.document(doc)
		}
		if err := c.printInfo(doc, stats); err != nil || !schema || len(versions) == 0 {
			return err
		}
		if err := c.out.line(""); err != nil {
			return err
		}
		return c.printSchemas(versions)
	})
}

func newestSchemas(ctx context.Context, s *store.Store) ([]onto.SchemaVersion, error) {
	all, err := s.Schemas(ctx)
	return backend.Newest(all), err
}

func describe(ctx context.Context, s *store.Store, where location, stats bool) (infoDoc, error) {
	info, err := describeBackend(ctx, s.Backend(), where, stats)
	if err != nil {
		return infoDoc{}, err
	}
	doc := infoDoc{
		Backend: info.Backend, Location: info.Location, Format: info.Format, StoreID: info.StoreID,
		Bytes: info.Bytes, Types: []typeRow{}, Warnings: append([]string{}, info.Warnings...),
	}
	for _, t := range info.Types {
		r := typeRow{Kind: t.Kind, Name: t.Name, Version: t.Version}
		if stats {
			r.Live, r.Versions = &t.Live, &t.Versions
		}
		doc.Types = append(doc.Types, r)
	}
	if w, ok := backend.As[backend.Indexer](s.Backend()); ok {
		doc.IndexWarning = w.LastIndexWarning()
	}
	if doc.head, err = s.Head(ctx); err != nil || doc.head.ID == 0 {
		return doc, err
	}
	at := codec.FormatTime(doc.head.Time)
	doc.Head = headDoc{doc.head.ID, &at}
	return doc, nil
}

func (c *command) printInfo(doc infoDoc, stats bool) error {
	head := "none, the store is empty"
	if doc.head.ID != 0 {
		head = fmt.Sprintf("commit %d at %s", doc.head.ID, showTime(doc.head.Time))
	}
	err := c.pairs([][2]string{
		{"backend", doc.Backend},
		{"location", doc.Location},
		{"format", known(doc.Format != 0, strconv.Itoa(doc.Format))},
		{"store id", doc.StoreID},
		{"head", head},
		{"size", known(doc.Bytes != 0, showBytes(doc.Bytes)+sizeOf(c.place(), stats))},
		{"index", doc.IndexWarning},
	})
	if err != nil {
		return err
	}
	for _, w := range doc.Warnings {
		c.say("warning: %s", w)
	}
	if len(doc.Types) == 0 {
		c.say("%s", c.place().nameIn("no types; register some with: onto init --schema FILE"))
		return nil
	}
	cols := wholeColumns("type", "kind", "version")
	if stats {
		cols = append(cols, wholeColumns("live", "versions")...)
	}
	if err := c.out.line(""); err != nil {
		return err
	}
	out := c.list(formatTable, cols)
	for _, t := range doc.Types {
		if err := out.add(t); err != nil {
			return err
		}
	}
	return out.close("")
}

// sizeOf tells what the size of a lake is the size of.
func sizeOf(where location, stats bool) string {
	switch {
	case !where.isLake():
		return ""
	case stats:
		return " (all objects)"
	}
	return " (files)"
}

// known is a text, or "" if what it tells is not known.
func known(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// showBytes is a size for people.
func showBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	for size >= 1024 && unit+1 < len(units) {
		size, unit = size/1024, unit+1
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// schemaRow is one version of a type.
type schemaRow struct {
	Kind    onto.Kind       `json:"type_kind"`
	Name    string          `json:"type_name"`
	Version int             `json:"schema_version_id"`
	Hash    string          `json:"schema_hash"`
	Schema  json.RawMessage `json:"schema"`
}

func newSchemaRow(v onto.SchemaVersion) schemaRow {
	return schemaRow{v.Schema.Kind, v.Schema.Name, v.Version, v.Hash, v.Schema.JSON()}
}
