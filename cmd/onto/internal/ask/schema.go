package ask

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// schemaFlags selects versions of types.
type schemaFlags struct {
	kind, typ string
	version   int
}

func (f *schemaFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kind, "kind", "", "only this `KIND`: entity, fact or relation")
	cmd.Flags().StringVar(&f.typ, "type", "", "only this `TYPE`")
}

// pick returns the versions that the flags select, out of all.
func (f *schemaFlags) pick(s *store.Store, all []onto.SchemaVersion) ([]onto.SchemaVersion, error) {
	if f.kind != "" {
		if err := session.CheckKind(onto.Kind(f.kind)); err != nil {
			return nil, err
		}
	}
	if f.typ != "" {
		schema, err := s.Now().Type(f.typ)
		if err != nil {
			return nil, err
		}
		if f.kind != "" && string(schema.Kind) != f.kind {
			return nil, onto.Errorf(onto.Invalid, "%s is of kind %s, not %s", f.typ, schema.Kind, f.kind)
		}
	}
	var list []onto.SchemaVersion
	for _, v := range declared(all) {
		if (f.kind == "" || string(v.Schema.Kind) == f.kind) && (f.typ == "" || v.Schema.Name == f.typ) {
			list = append(list, v)
		}
	}
	return list, nil
}

// declared is types without those that a store keeps for itself.
func declared(all []onto.SchemaVersion) []onto.SchemaVersion {
	return slices.DeleteFunc(all, func(v onto.SchemaVersion) bool { return strings.HasPrefix(v.Schema.Name, onto.OwnPrefix) })
}

// SchemaExport is the verb schema export: types as a schema file.
func SchemaExport(c *session.Session) *cobra.Command {
	var f schemaFlags
	var wanted string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print types as a schema file",
		Long: `Print the present types, or with --version an earlier version of one type. The
YAML is a schema file again: init takes it, and the hash of each type stands in
a comment. The JSON of --json is for programs, and no schema file.`,
		Example: `  onto schema export > schema.yaml
  onto init --schema schema.yaml --db other.db
  onto schema export --json
  onto schema export --kind entity --type Customer --version 1`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("version") && (f.version < 1 || f.typ == "") {
				return onto.Errorf(onto.Invalid, "--version is a number from 1 on and goes with --type")
			}
			return schemaExport(cmd.Context(), c, &f, wanted)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&f.version, "version", 0, "version `N` of the type, not the newest")
	cmd.Flags().StringVar(&wanted, "format", "", "the `FORMAT`: yaml or json (default yaml)")
	return cmd
}

func schemaExport(ctx context.Context, c *session.Session, f *schemaFlags, wanted string) error {
	switch {
	case wanted != "" && wanted != "yaml" && wanted != "json":
		return onto.Errorf(onto.Invalid, "format %q is unknown", wanted).WithHint("use yaml or json")
	case wanted == "yaml" && c.JSON:
		return onto.Errorf(onto.Invalid, "--json and --format yaml contradict each other").WithHint("give one of them")
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		versions, err := exported(ctx, s, f)
		if err != nil {
			return err
		}
		if wanted != "json" && !c.JSON {
			folds, err := exportedFolds(ctx, s, versions)
			if err != nil {
				return err
			}
			return printSchemas(c, versions, folds)
		}
		out := c.Array()
		for _, v := range versions {
			if err := out.Add(document.NewSchema(v)); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// exportedFolds returns the folds that a schema file with these types can have: those
// whose programs are kept in the store.
func exportedFolds(ctx context.Context, s *store.Store, versions []onto.SchemaVersion) ([]schemafile.Fold, error) {
	all, err := s.Folds(ctx)
	if err != nil {
		return nil, err
	}
	has := func(kind onto.Kind, name string) bool {
		return slices.ContainsFunc(versions, func(v onto.SchemaVersion) bool { return v.Schema.Kind == kind && v.Schema.Name == name })
	}
	var list []schemafile.Fold
	for _, f := range all {
		if f.Program != "" && has(onto.KindFact, f.Facts) && has(onto.KindEntity, f.State) {
			list = append(list, schemafile.Fold{Name: f.Name, Version: f.Version, Facts: f.Facts, State: f.State, Program: f.Program})
		}
	}
	return list, nil
}

// exported returns the newest versions, or the one that was asked for.
func exported(ctx context.Context, s *store.Store, f *schemaFlags) ([]onto.SchemaVersion, error) {
	all, err := s.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	picked, err := f.pick(s, all)
	if err != nil || f.version == 0 {
		return typelist.Newest(picked), err
	}
	for _, v := range picked {
		if v.Version == f.version {
			return []onto.SchemaVersion{v}, nil
		}
	}
	return nil, onto.Errorf(onto.NotFound, "%s has no version %d", f.typ, f.version).
		WithHint("list its versions").WithCommand("schema", "history", "--type", f.typ)
}

// printSchemas prints types as a schema file.
func printSchemas(c *session.Session, versions []onto.SchemaVersion, folds []schemafile.Fold) error {
	schemas := make([]onto.Schema, len(versions))
	for i, v := range versions {
		schemas[i] = v.Schema
		if err := c.Out.Line("# %s %s version %d sha256 %s", v.Schema.Kind, terminal.Escape(v.Schema.Name), v.Version, terminal.Escape(v.Hash)); err != nil {
			return err
		}
	}
	text, err := schemafile.FormatFile(schemas, folds)
	if err != nil {
		return err
	}
	return c.Out.Data(text)
}

// SchemaHistory is the verb schema history: the versions of a type.
func SchemaHistory(c *session.Session) *cobra.Command {
	var f schemaFlags
	cmd := &cobra.Command{
		Use:   "history --type T",
		Short: "List the versions of a type",
		Long: `List the versions of a type, oldest first: when each was registered, by which run of
a program, on whose behalf and why, and what differs from the version before it, as
+ home.zip; and for a type that has ended, the same of its end.
A migration or a drop that had nothing to write made no commit: it is found here.`,
		Example: `  onto schema history --type Customer
  onto schema history --kind relation --type Subscription --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.typ == "" {
				return onto.Errorf(onto.Invalid, "--type is missing").WithHint("see the types").WithCommand("info")
			}
			return schemaHistory(cmd.Context(), c, &f)
		},
	}
	f.register(cmd)
	return cmd
}

func schemaHistory(ctx context.Context, c *session.Session, f *schemaFlags) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		all, err := s.Schemas(ctx)
		if err != nil {
			return err
		}
		versions, err := f.pick(s, all)
		if err != nil {
			return err
		}
		out := terminal.Rows(c.Printer, terminal.WholeColumns("kind", "type", "version", "hash", "changes", "time", "runtime", "reason", "actor", "comment", "since", "upgrader", "end"),
			document.NewSchemaVersion, schemaCells())
		for _, v := range versions {
			if err := out.Add(v); err != nil {
				return err
			}
		}
		return out.Close("no versions")
	})
}

// schemaCells returns what makes a row of each version of a type.
func schemaCells() func(onto.SchemaVersion) ([]string, error) {
	var last onto.SchemaVersion
	return func(v onto.SchemaVersion) ([]string, error) {
		changes := ""
		if last.Schema.TypeName() == v.Schema.TypeName() {
			changes = strings.TrimPrefix(onto.DiffSchemas(last.Schema, v.Schema).String(), v.Schema.Name+": ")
		}
		last = v
		return []string{
			string(v.Schema.Kind), v.Schema.Name, strconv.Itoa(v.Version), v.Hash, changes, terminal.Time(v.Created), v.Runtime, v.Reason,
			v.Actor.String(), v.Comment, strconv.FormatInt(v.Since, 10), upgraderCell(&v), endCell(v.End),
		}, nil
	}
}

// upgraderCell says how fields became those of a version, and who has given the upgrader
// later.
func upgraderCell(v *onto.SchemaVersion) string {
	text := document.UpgraderText(v.Upgrader)
	if l := v.Learned; l != nil {
		text += ", given " + terminal.Time(l.Time) + whoAndWhy(l.Actor, l.Comment)
	}
	return text
}

// endCell says how a type has ended, on whose behalf and why, and the same of its purge.
func endCell(e *onto.End) string {
	if e == nil {
		return ""
	}
	text := document.EndText(e)
	p := &e.Purge
	if *p != (onto.Purge{}) && !p.Time.Equal(e.Time) { // it was purged later
		text = document.EndText(&onto.End{Commit: e.Commit, RenamedTo: e.RenamedTo})
	}
	text += whoAndWhy(e.Actor, e.Comment)
	switch {
	case *p == (onto.Purge{}):
		return text
	case p.Time.Equal(e.Time):
		return text + "; " + terminal.Count(p.Versions, "version was", "versions were") + " purged"
	}
	return text + "; " + terminal.Count(p.Versions, "version was", "versions were") + " purged at " + terminal.Time(p.Time) + whoAndWhy(p.Actor, p.Comment)
}

func whoAndWhy(actor onto.Actor, comment string) (text string) {
	if actor != (onto.Actor{}) {
		text = " for " + actor.String()
	}
	if comment != "" {
		text += ": " + comment
	}
	return text
}
