package evolve

import (
	"cmp"
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
	"github.com/ontologia/onto/store"
)

// Verify is the verb verify: the stored types against a schema file.
func Verify(c *session.Session) *cobra.Command {
	var schema string
	var diff bool
	cmd := &cobra.Command{
		Use:   "verify --schema FILE",
		Short: "Compare the stored types with a schema file",
		Long: `Compare the stored types with those of a schema file: the same, different, only
in the file, or only stored; and so the folds that are programs. Exit status 3
unless all are the same. Marks for index and search are no difference. The data is
not looked at: onto doctor does that.`,
		Example: `  onto verify --schema schema.yaml
  onto verify --schema schema.yaml --diff
  onto verify --schema schema.yaml --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return verify(cmd.Context(), c, schema, diff) },
	}
	cmd.Flags().StringVar(&schema, "schema", "", "schema `FILE`, YAML or JSON; - for stdin")
	cmd.Flags().BoolVar(&diff, "diff", false, "show each field that differs")
	return cmd
}

// comparison is a type and how it compares.
type comparison struct {
	document.Compared
	lines []string // what differs
}

func (r comparison) document() document.Compared { return r.Compared }

func (r comparison) cells() ([]string, error) {
	version := ""
	if v := cmp.Or(r.Version, r.Fold); v != nil {
		version = strconv.Itoa(*v)
	}
	return []string{string(r.Kind), r.Type, version, r.Status}, nil
}

func verify(ctx context.Context, c *session.Session, name string, diff bool) error {
	if name == "" {
		return onto.Errorf(onto.Invalid, "--schema is missing").WithHint("name a schema file")
	}
	file, err := readFile(ctx, c, name)
	if err != nil {
		return err
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		found, err := compareTypes(ctx, s, file.Types)
		if err != nil {
			return err
		}
		folds, err := compareFolds(ctx, s, file.Folds)
		if err != nil {
			return err
		}
		found = append(found, folds...)
		out := terminal.Rows(c.Printer, terminal.WholeColumns("kind", "type", "version", "status"), comparison.document, comparison.cells)
		wrong, one, many := 0, "type is", "types are"
		for _, r := range found {
			if r.Status != "same" {
				wrong++
			}
			if r.Status != "same" && r.Kind == foldKind {
				one, many = "type or fold is", "types or folds are"
			}
			if err := out.Add(r); err != nil {
				return err
			}
		}
		if err := out.Close("no types"); err != nil {
			return err
		}
		for _, r := range found {
			for _, line := range r.lines {
				if diff && !c.JSON {
					if err := c.Out.Line("%s", terminal.Escape(line)); err != nil {
						return err
					}
				}
			}
		}
		if wrong == 0 {
			return nil
		}
		return onto.Errorf(document.CheckFailed, "%s not as the file says", terminal.Count(wrong, one, many)).
			WithHint("see what a migration would do").WithCommand("migrate", "--schema", name)
	})
}

// withoutOwn is a type without the fields that a store adds to it beside those that a file declares.
func withoutOwn(s onto.Schema) onto.Schema {
	s.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(f onto.Field) bool { return f.Compute == nil && strings.HasPrefix(f.Name, onto.OwnPrefix) })
	return s
}

// compareTypes compares the stored types with given ones, in order of kind and
// name.
func compareTypes(ctx context.Context, s *store.Store, types []onto.Type) ([]comparison, error) {
	stored, err := s.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	numbers := map[onto.TypeName]*int{}
	for _, v := range stored {
		numbers[v.Schema.TypeName()] = &v.Version
	}
	present := s.Types()
	var rows []comparison
	for _, t := range types {
		g, err := t.Schema()
		if err != nil {
			return nil, err
		}
		r := comparison{Compared: document.NewCompared(g, "only in the file")}
		i := slices.IndexFunc(present, func(o onto.Schema) bool { return o.TypeName() == g.TypeName() })
		if i >= 0 {
			d := onto.DiffSchemas(withoutOwn(present[i]), g)
			r.Differ(d)
			r.lines = d.Lines()
			r.Version = numbers[g.TypeName()]
			present = slices.Delete(present, i, i+1)
		}
		rows = append(rows, r)
	}
	for _, o := range present {
		r := comparison{Compared: document.NewCompared(o, "only stored")}
		r.Version = numbers[o.TypeName()]
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b comparison) int {
		return onto.Identity{Kind: a.Kind, Type: a.Type}.Compare(onto.Identity{Kind: b.Kind, Type: b.Type})
	})
	return rows, nil
}
