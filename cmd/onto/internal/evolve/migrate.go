package evolve

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// migrateFlags is what a migration is asked for, as it was typed.
type migrateFlags struct {
	schema, upgraders string
	try               bool
	applyFlags
}

// applyFlags is what it takes to apply a plan.
type applyFlags struct {
	apply, force bool
	newerHead    bool
	token        string
	session.WriteFlags
}

func (f *applyFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.apply, "apply", false, "do it; needs --token")
	flags.StringVar(&f.token, "token", "", "the `TOKEN` of the plan that was looked at")
	flags.BoolVar(&f.newerHead, "newer-head", false, "with --token: also if there were commits since it was planned, and tell how much was done")
	f.RegisterOrigin(cmd)
}

// check refuses flags that contradict each other.
func (f *applyFlags) check() error {
	switch {
	case f.apply && f.token == "" && !f.force:
		return onto.Errorf(onto.Invalid, "--apply needs the token of the plan").
			WithHint("run it without --apply, look at the plan, and give its token with --token")
	case !f.apply && (f.token != "" || f.force):
		return onto.Errorf(onto.Invalid, "--token and --force go with --apply").WithHint("add --apply to do it")
	case f.newerHead && (!f.apply || f.token == ""):
		return onto.Errorf(onto.Invalid, "--newer-head goes with --apply and --token").WithHint("give the token of the plan that was looked at")
	case f.token != "" && f.force:
		return onto.Errorf(onto.Invalid, "--token and --force contradict each other").WithHint("give one of them")
	}
	return nil
}

// options is the store's form of the flags.
func (f *applyFlags) options(cmd *cobra.Command, c *session.Session, cfg place.Settings, what string) (*store.ApplyOptions, func(), error) {
	draft, err := f.Draft(c, cmd)
	if err != nil {
		return nil, nil, err
	}
	progress, done := c.Progress(what)
	opts := &store.ApplyOptions{Token: f.token, Force: f.force, NewerHead: f.newerHead, Draft: draft, Runtime: c.Runtime, Progress: progress}
	patient(opts, cfg, c.Place().IsLake())
	return opts, done, nil
}

// patient fills in how long to wait for others, and they for this program.
func patient(opts *store.ApplyOptions, cfg place.Settings, lake bool) {
	wait := "lock_timeout_ms"
	opts.LeaseTTL = cfg.Duration("lease_ttl_ms")
	if lake {
		opts.LeaseTTL, wait = cfg.Duration("s3_lease_ttl_ms"), "s3_lock_timeout_ms"
	}
	if cfg.Given(wait) { // otherwise it is store.DefaultMigrationWait, which is longer than what other writes wait
		opts.Wait = cfg.Duration(wait)
	}
}

// Migrate is the verb migrate: types, changed with what is stored of them.
func Migrate(c *session.Session) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate --schema FILE",
		Short: "Change types, and what is stored with them",
		Long: `Migrate brings the stored types to those of a schema file. Without --apply it
only shows the plan: what differs, how many things are written anew, which steps
need an upgrader, and a token. With --apply and that token it does it, if plan
and head are still the same: all types or none, in one commit. Where programs
write all the time, --newer-head accepts the token for a newer head: the types
change as in the plan, and how much there is to write anew may be another number.
Types that the file does not have stay as they are. Folds of the file are left to
init.

A new optional field, or a wider type, changes the schema only, also inside objects and
lists. A new field with a default fills it in. Where what is inside was not declared, each
thing is looked at, and has to fit. Anything else needs an upgrader: a jq program that makes
fields of the next version out of those of the one before. They are kept in the
store, so that earlier moments can be read as the present types have them.

An upgraders file is YAML like this:

  Customer:
    1: '.tier //= "Silver"'
    2: {rename: {name: full_name}, drop: [fax], jq: '.seats += 1'}
    3: {rename: {home.city: home.town, 'lines[].qty': 'lines[].quantity'}, default: {home.zip: 0}}
  Client:
    renamed_from: Company

While a migration runs, others can read but not write: their commits wait for it
up to migration_wait_ms, and lock show tells how far it is. Afterwards, programs that
were started with the old types go on if the change is compatible: new fields that
are optional or have a default, required fields that become optional, wider types,
and no upgrader. They read what they know, and what they write keeps the fields
that they do not know. After any other change their typed reads and writes fail
with schema_outdated and what has changed; reads by name go on with the new types.

With --vaults, the types of every shard of a vault are changed, or of one tenant with
--tenant: the plan has a part for each shard and one token for all, and shards are
migrated one after the other. If one fails, the error names those that are left behind:
plan and apply again to go on with them.`,
		Example: `  onto migrate --schema schema.yaml
  onto migrate --schema schema.yaml --upgraders upgraders.yaml --try
  onto migrate --schema schema.yaml --upgraders upgraders.yaml --apply --token TOKEN
  onto migrate --schema schema.yaml --apply --token TOKEN --newer-head
  onto migrate --schema schema.yaml --vaults vaults.yaml --vault chat`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return migrate(c, cmd, &f) },
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.schema, "schema", "", "schema `FILE` with the types as they should be; - for stdin")
	cmd.Flags().StringVar(&f.upgraders, "upgraders", "", "upgraders `FILE`")
	cmd.Flags().BoolVar(&f.try, "try", false, "run the upgraders over everything, and change nothing")
	cmd.Flags().BoolVar(&f.force, "force", false, "with --apply: without a token, whatever the plan is")
	c.RegisterVaults(cmd.Flags())
	return cmd
}

func migrate(c *session.Session, cmd *cobra.Command, f *migrateFlags) error {
	if f.schema == "" {
		return onto.Errorf(onto.Invalid, "--schema is missing").WithHint("name a schema file; print the present one").WithCommand("schema", "export")
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.try && f.apply {
		return onto.Errorf(onto.Invalid, "--try and --apply contradict each other").WithHint("give one of them")
	}
	ctx := cmd.Context()
	m, err := readMigration(ctx, c, f)
	if err != nil {
		return err
	}
	how := place.Reading
	if f.apply {
		how = place.Writing
	}
	sharded, err := c.Sharded()
	if err != nil {
		return err
	}
	if sharded {
		return migrateVault(c, cmd, how, f, m)
	}
	b, cfg, err := c.OpenBackend(ctx, how)
	if err != nil {
		return err
	}
	defer b.Close()
	opts, done, err := f.options(cmd, c, cfg, "migrating")
	if err != nil {
		return err
	}
	if !f.apply {
		return planMigration(ctx, c, b, m, f, opts, done)
	}
	res, plan, err := store.Migrate(ctx, b, m, opts)
	done()
	if err != nil {
		return err
	}
	return printMigrated(c, f.newerHead, opts.Draft, res, plan)
}

func readMigration(ctx context.Context, c *session.Session, f *migrateFlags) (*store.Migration, error) {
	types, err := readSchema(ctx, c, f.schema)
	if err != nil || f.upgraders == "" {
		return &store.Migration{Types: types}, err
	}
	list, err := session.ReadUpgraders(f.upgraders)
	if err != nil {
		return nil, err
	}
	return &store.Migration{Types: types, Upgraders: list}, nil
}

// planMigration shows a plan, after trying it if that is wanted.
func planMigration(ctx context.Context, c *session.Session, b backend.Backend, m *store.Migration, f *migrateFlags, opts *store.ApplyOptions, done func()) error {
	plan, err := store.PlanMigration(ctx, b, m)
	if err != nil {
		return err
	}
	if f.try {
		n, err := store.TryMigration(ctx, b, m, opts)
		done()
		if err != nil {
			return err
		}
		c.Say("tried the upgraders with %s: all fit", terminal.Count(n, "thing", "things"))
	}
	if c.JSON {
		return c.Document(document.NewPlan(plan))
	}
	if sayNewer(c, plan); plan.Empty() {
		return nil
	}
	for i := range plan.Types {
		if err := printTypePlan(c, &plan.Types[i]); err != nil {
			return err
		}
	}
	if missing := plan.Missing(); len(missing) > 0 {
		c.Say("%s missing: give it with --upgraders FILE", terminal.Count(len(missing), "upgrader is", "upgraders are"))
		return nil
	}
	if err := c.Out.Line("token %s", plan.Token); err != nil {
		return err
	}
	sayApply(c, f.words(), plan.Token)
	return nil
}

// words is the command that plans the migration, as it can be given again.
func (f *migrateFlags) words() []string {
	words := []string{"migrate", "--schema", f.schema}
	if f.upgraders != "" {
		words = append(words, "--upgraders", f.upgraders)
	}
	return words
}

// sayApply tells how to apply a plan.
func sayApply(c *session.Session, words []string, token string) {
	c.SayNext("nothing was changed; apply it", append(words, "--apply", "--token", token)...)
}

// printTypePlan shows the change of one type.
func printTypePlan(c *session.Session, t *store.TypeMigration) error {
	head := string(t.Kind) + " " + t.Name
	lines := []string{}
	switch {
	case t.From == 0:
		head += ": new"
	case t.RenamedFrom != "":
		head += ": renamed from " + t.RenamedFrom + ", " + terminal.Count(t.Live, "thing is", "things are") + " written anew"
	case t.To == t.From:
		head += ": stays as it is"
	case t.Rewrite:
		head += ": " + versions(t.From, t.To) + ", " + terminal.Count(t.Live, "thing is", "things are") + " written anew"
	default:
		head += ": " + versions(t.From, t.To) + ", schema only"
	}
	if t.From != 0 {
		for _, l := range t.Difference.Lines() {
			lines = append(lines, strings.TrimPrefix(l, t.Name+": "))
		}
	}
	for _, s := range t.Steps {
		line := "step " + s.Name + ": " + s.How
		if s.Missing != "" {
			line = "step " + s.Name + " needs an upgrader: " + s.Missing
		}
		lines = append(lines, line)
		for _, u := range s.Unfit {
			lines = append(lines, "  "+u.Identity.String()+": "+u.Problem)
		}
		if more := s.Unfits - int64(len(s.Unfit)); more > 0 {
			lines = append(lines, "  and "+terminal.Count(more, "more", "more"))
		}
		if s.Suggest != "" {
			lines = append(lines, "  perhaps: "+s.Suggest)
		}
	}
	for _, v := range t.Learned {
		lines = append(lines, "the upgrader into version "+strconv.Itoa(v)+" is kept from now on")
	}
	if err := c.Out.Line("%s", c.Out.Paint(terminal.Bold, terminal.Escape(head))); err != nil {
		return err
	}
	for _, l := range lines {
		if err := c.Out.Line("  %s", terminal.Escape(l)); err != nil {
			return err
		}
	}
	return nil
}

// sayNewer tells about types that stay as they are.
func sayNewer(c *session.Session, plan *store.MigrationPlan) {
	for _, d := range plan.Newer {
		c.Say("%s; the stored version is newer and serves programs with the given one, so it stays; to go back, give an upgrader", d)
	}
	if plan.Empty() && len(plan.Newer) == 0 {
		c.Say("nothing to do: the types are as the file says")
	}
}

func versions(from, to int) string { return fmt.Sprintf("version %d → %d", from, to) }

// printMigrated tells what a migration did, with counts if it was planned for other ones.
func printMigrated(c *session.Session, counts bool, d onto.Draft, res onto.Result, plan *store.MigrationPlan) error {
	if c.JSON {
		doc := document.NewMigrated(res, plan)
		doc.Emitted = document.Emitted(d, res)
		return c.Document(doc)
	}
	if sayNewer(c, plan); plan.Empty() {
		if len(d.Emitted()) > 0 {
			c.SayNoCommit(d, "no commit was made")
		}
		return nil
	}
	for _, t := range plan.Types {
		written := ""
		if counts && t.Rewrite {
			written = ": " + terminal.Count(t.Live, "thing was", "things were") + " written anew"
		}
		c.Say("%s %s is at version %d%s", t.Kind, t.Name, t.To, written)
	}
	if !res.Changed() {
		c.SayNoCommit(d, "no commit was needed")
		return nil
	}
	return c.PrintCommitted(d, res)
}
