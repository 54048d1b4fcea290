package evolve

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/store/schemafile"
)

// Init is the verb init: a store with its types.
func Init(c *session.Session) *cobra.Command {
	var schema string
	var dryRun bool
	var by session.ByFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a store and register types",
		Long: `Init makes the storage if there is none, and registers the types of a schema
file. It makes no commit, unless the file has folds. Again with the same schema
changes nothing; a type that is stored differently is refused, and nothing is
registered then. A lake is made only in an empty place, and only where writers can
rely on the storage, which is tried out first. --actor and --comment say on whose
behalf and why; schema history shows them.

With --vaults, the shards of tenants are made: of all that the file lists, or of those
that --vault and --tenant name. Each shard gets its name and its buckets, in a commit.
Shards that were made before are kept, and the types are registered on each. Nothing is
made if one of the stores is down, or is something else than a shard of its tenant.

Marks on fields can change at any time: index makes filters on a field fast,
search lets --search find its words. Marking a field builds what it needs, and
taking the mark away removes it.

A schema file is YAML like this, or the same as JSON:
` + ExampleSchema + `
Types of fields: ` + fieldTypes() + `.
Lists and objects can say what is inside, at any depth; without that they hold any values:

  tags:   {type: list, items: string}
  home:   {type: object, fields: {city: {type: string, index: true}, zip: {type: int, optional: true}}}
  lines:  {type: list, items: {type: object, fields: {sku: {type: string}, qty: {type: int}}}}
  labels: {type: object, values: string}          # any names, which is a map
  tier:   {type: string, enum: [Silver, Gold]}

A time is text like 2026-02-10T12:34:56Z, a date like 2026-02-10. Fields are required
unless they are optional or have a default; attributes of facts always are optional. A type
of facts with open: true takes attributes that it does not name, with values of any type.

The store can compute fields of these names: the key, if key: names onto_key, which is
the shard key and the id, with a / between them, or the id alone if both paths are the same; the
id; and all texts, for search. They are never given, and exports leave them out:

  onto_key:  {type: string, compute: {rule: key, id: id, shard_key: chat}}
  onto_id:   {type: string, index: true, compute: {rule: id, id: id}}
  onto_text: {type: string, search: true, compute: {rule: text}}

Folds make a state of the facts about each subject, an entity of a type of its own. They
stand below folds: in the file, as jq programs that get {state, fact, draft} and return
the next state; at first a state has only its key. They are kept in the store, in a
commit. A program that makes something else of the same facts needs a greater version;
the states are rebuilt then.

  folds:
    pay:
      facts: Contract
      state: Pay              # an entity type whose key is the subject
      version: 1
      program: 'if .fact.attribute == "salary" then .state.salary = .fact.value else . end | .state'`,
		Example: `  onto init
  onto init --schema schema.yaml
  onto init --schema schema.yaml --dry-run --db crm.db
  onto init --schema schema.yaml --actor operator:ana --comment 'the first types'
  onto init --schema schema.yaml --storage-uri s3://my-bucket/crm
  onto init --vaults vaults.yaml --vault chat --tenant acme --schema schema.yaml`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			actor, err := by.Actor(c, cmd)
			if err != nil {
				return err
			}
			sharded, err := c.Sharded()
			if err != nil {
				return err
			}
			opts := store.Options{Actor: actor, Comment: by.Comment}
			if sharded {
				return initialiseTenants(cmd.Context(), c, schema, dryRun, opts)
			}
			return initialise(cmd.Context(), c, schema, dryRun, opts)
		},
	}
	by.Register(cmd)
	cmd.Flags().StringVar(&schema, "schema", "", "schema `FILE`, YAML or JSON; - for stdin")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	c.RegisterVaults(cmd.Flags())
	return cmd
}

// ExampleSchema is the schema file in the help.
const ExampleSchema = `
  entities:
    Customer:
      key: id
      fields:
        id:    {type: string}
        name:  {type: string, search: true}
        tier:  {type: string, index: true}
        since: {type: time, optional: true}
    Product:
      key: sku
      fields:
        sku:   {type: string}
  relations:
    Subscription:
      left: Customer
      right: Product
      instance_key: stint_id  # only where there are several between the same two
      fields:
        seats: {type: int, default: 1}
  facts:
    Contract:
      subject: Customer       # leave it out if the subjects are any texts
      fields:                 # the attributes
        employer: {type: string, index: true}
        salary:   {type: int}
        skill:    {type: string, many: true}  # several values at once
`

func fieldTypes() string {
	var names []string
	for _, t := range onto.FieldTypes() {
		names = append(names, string(t))
	}
	return strings.Join(names, ", ")
}

func initialise(ctx context.Context, c *session.Session, schema string, dryRun bool, by store.Options) error {
	file, err := readFile(ctx, c, schema)
	if err != nil {
		return err
	}
	cfg, err := c.Configure()
	if err != nil {
		return err
	}
	loc, err := cfg.Location()
	if err != nil {
		return err
	}
	doc, err := planInit(ctx, c, loc, cfg, file)
	if err != nil {
		return err
	}
	doc.DryRun = dryRun
	if !dryRun && doc.Changes() {
		if err := applyInit(ctx, c, loc, cfg, file, by); err != nil {
			return err
		}
	}
	return printInit(c, doc)
}

// readFile reads a schema file; no name gives an empty one.
func readFile(ctx context.Context, c *session.Session, name string) (schemafile.File, error) {
	switch name {
	case "":
		return schemafile.File{}, nil
	case "-":
		return schemafile.ReadFile(c.Stdin(ctx))
	}
	f, err := os.Open(name)
	if err != nil {
		return schemafile.File{}, onto.Errorf(onto.Invalid, "schema file: %w", err)
	}
	defer f.Close()
	file, err := schemafile.ReadFile(f)
	if err != nil {
		return file, onto.Errorf(onto.CodeOf(err), "%s: %w", name, err)
	}
	return file, nil
}

// readSchema reads the types of a schema file.
func readSchema(ctx context.Context, c *session.Session, name string) ([]onto.Type, error) {
	file, err := readFile(ctx, c, name)
	return file.Types, err
}

// planInit finds out what is to be done, and changes nothing. If there is no store yet,
// an empty one is used.
func planInit(ctx context.Context, c *session.Session, loc place.Location, cfg place.Settings, file schemafile.File) (doc document.Init, err error) {
	doc = document.Init{Location: loc.String(), Registered: []document.TypeName{}, Retuned: []document.TypeName{}, Unchanged: []document.TypeName{}, Folds: []document.FoldVersion{}}
	b, err := c.OpenAt(ctx, place.Reading, loc, cfg)
	if onto.CodeOf(err) == onto.Uninitialized {
		if err := loc.CheckFolder(); err != nil {
			return doc, err
		}
		doc.Created = true
		b, err = place.Location{Path: place.MemoryPath}.Open(ctx, place.Reading, cfg, place.Opener{})
	}
	if err != nil {
		return doc, err
	}
	defer b.Close()
	found, err := store.PlanTypes(ctx, b, file.Types...)
	if err != nil {
		return doc, err
	}
	if doc.Folds, err = newFolds(ctx, c, loc, cfg, file.Folds); err != nil {
		return doc, err
	}
	for _, t := range file.Types {
		schema, err := t.Schema()
		if err != nil {
			return doc, err
		}
		name := document.NewTypeName(schema.TypeName())
		named := func(s onto.Schema) bool { return s.Name == schema.Name }
		switch {
		case slices.ContainsFunc(found.New, named):
			doc.Registered = append(doc.Registered, name)
		case slices.ContainsFunc(found.Retuned, named):
			doc.Retuned = append(doc.Retuned, name)
		default:
			doc.Unchanged = append(doc.Unchanged, name)
		}
	}
	return doc, nil
}

// applyInit does what is planned, on behalf and with the comment that the options have.
func applyInit(ctx context.Context, c *session.Session, loc place.Location, cfg place.Settings, file schemafile.File, by store.Options) error {
	b, err := c.OpenAt(ctx, place.Creating, loc, cfg)
	if err != nil {
		return err
	}
	opts := c.StoreOptions(cfg)
	opts.Actor, opts.Comment = by.Actor, by.Comment
	for _, f := range file.Folds {
		opts.Folds = append(opts.Folds, store.FoldProgram(f))
	}
	s, err := store.OpenWith(ctx, b, opts, file.Types...)
	if err != nil {
		return err
	}
	c.Shut(s)
	return nil
}

func printInit(c *session.Session, doc document.Init) error {
	if c.JSON {
		return c.Document(doc)
	}
	if doc.Created {
		made := "made %s"
		if doc.DryRun {
			made = "would make %s"
		}
		if err := c.Out.Line(made, terminal.Escape(doc.Location)); err != nil {
			return err
		}
	}
	if err := printChanges(c, doc); err != nil {
		return err
	}
	switch {
	case doc.Location == place.MemoryPath:
		c.Say("a store in memory is gone when the command ends")
	case !doc.Changes():
		c.Say("%s: nothing to do", doc.Location)
	}
	return nil
}

// printChanges prints what is done in a store.
func printChanges(c *session.Session, doc document.Init) error {
	registered, retuned, kept := "registered %s %s", "changed the indexes of %s %s", "keeps fold %s version %d"
	if doc.DryRun {
		registered, retuned, kept = "would register %s %s", "would change the indexes of %s %s", "would keep fold %s version %d"
	}
	for _, t := range doc.Registered {
		if err := c.Out.Line(registered, t.Kind, t.Type); err != nil {
			return err
		}
	}
	for _, f := range doc.Folds {
		if err := c.Out.Line(kept, f.Name, f.Version); err != nil {
			return err
		}
	}
	for _, t := range doc.Retuned {
		if err := c.Out.Line(retuned, t.Kind, t.Type); err != nil {
			return err
		}
	}
	return nil
}
