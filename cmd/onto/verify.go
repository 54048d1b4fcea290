package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

func (c *command) verifyCommand() *cobra.Command {
	var schema string
	var diff bool
	cmd := &cobra.Command{
		Use:   "verify --schema FILE",
		Short: "Compare the stored types with a schema file",
		Long: `Compare the stored types with those of a schema file: the same, different, only
in the file, or only stored. Exit status 3 unless all are the same. Marks for
index and search are no difference. Whether the data is sound, tells: onto doctor`,
		Example: `  onto verify --schema schema.yaml
  onto verify --schema schema.yaml --diff
  onto verify --schema schema.yaml --json`,
		Args: argCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.verify(cmd.Context(), schema, diff) },
	}
	cmd.Flags().StringVar(&schema, "schema", "", "schema `FILE`, YAML or JSON; - for stdin")
	cmd.Flags().BoolVar(&diff, "diff", false, "show each field that differs")
	return cmd
}

// verifyRow is a type and how it compares.
type verifyRow struct {
	Kind    onto.Kind `json:"type_kind"`
	Name    string    `json:"type_name"`
	Status  string    `json:"status"`  // same, different, only in the file, only stored
	Version *int      `json:"version"` // null if it is not stored
	Added   []string  `json:"added"`
	Removed []string  `json:"removed"`
	Changed []string  `json:"changed"`
	lines   []string
}

func (r verifyRow) cells() ([]string, error) {
	version := ""
	if r.Version != nil {
		version = versionText(*r.Version)
	}
	return []string{string(r.Kind), r.Name, version, r.Status}, nil
}

func (c *command) verify(ctx context.Context, name string, diff bool) error {
	if name == "" {
		return onto.Errorf(onto.Invalid, "--schema is missing").WithHint("name a schema file")
	}
	types, err := c.readSchema(ctx, name)
	if err != nil {
		return err
	}
	return c.withStore(ctx, reading, func(s *store.Store) error {
		rows, err := compareTypes(ctx, s, types)
		if err != nil {
			return err
		}
		out := c.rows(wholeColumns("kind", "type", "version", "status"))
		wrong := 0
		for _, r := range rows {
			if r.Status != "same" {
				wrong++
			}
			if err := out.add(r); err != nil {
				return err
			}
		}
		if err := out.close("no types"); err != nil {
			return err
		}
		for _, r := range rows {
			for _, line := range r.lines {
				if diff && !c.json {
					if err := c.out.line("%s", escape(line)); err != nil {
						return err
					}
				}
			}
		}
		if wrong == 0 {
			return nil
		}
		return onto.Errorf(checkFailed, "%s not as the file says", count(wrong, "type is", "types are")).
			WithHint("see what a migration would do: onto migrate --schema %s", shellWord(name))
	})
}

// compareTypes compares the stored types with given ones, in order of kind and
// name.
func compareTypes(ctx context.Context, s *store.Store, types []onto.Type) ([]verifyRow, error) {
	stored, err := s.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	numbers := map[typeName]int{}
	for _, v := range stored {
		numbers[typeName{v.Schema.Kind, v.Schema.Name}] = v.Version
	}
	present := s.Types()
	var rows []verifyRow
	for _, t := range types {
		g, err := t.Schema()
		if err != nil {
			return nil, err
		}
		r := newVerifyRow(g, "only in the file")
		i := slices.IndexFunc(present, func(o onto.Schema) bool { return o.TypeName() == g.TypeName() })
		if i >= 0 {
			d := onto.Compare(present[i], g)
			r.Status, r.lines = "same", d.Lines()
			if !d.Empty() {
				r.Status = "different"
			}
			r.Added, r.Removed, r.Changed = orEmpty(d.Added), orEmpty(d.Removed), orEmpty(d.Changed)
			r.number(numbers)
			present = slices.Delete(present, i, i+1)
		}
		rows = append(rows, r)
	}
	for _, o := range present {
		r := newVerifyRow(o, "only stored")
		r.number(numbers)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b verifyRow) int {
		return onto.Identity{Kind: a.Kind, Type: a.Name}.Compare(onto.Identity{Kind: b.Kind, Type: b.Name})
	})
	return rows, nil
}

func newVerifyRow(s onto.Schema, status string) verifyRow {
	return verifyRow{Kind: s.Kind, Name: s.Name, Status: status, Added: []string{}, Removed: []string{}, Changed: []string{}}
}

func (r *verifyRow) number(numbers map[typeName]int) {
	n := numbers[typeName{r.Kind, r.Name}]
	r.Version = &n
}
