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

// queryFlags is what a query asks for, as it was typed.
type queryFlags struct {
	where, orderBy, groupBy []string
	agg, selected           []string
	left, right             []string
	search, having          string
	limit, offset           int
	cursor, asOf            string
	page                    bool
	history, asStored       bool
	since                   int64
	explain                 bool
	format                  string

	kind onto.Kind
	via  []string // of a traversal
	to   []string // filters on what it leads to

	validAt, during string // of facts
	every, count    bool
}

// Query is the verb query: entities, relations, facts, and what relations lead to.
func Query(c *session.Session) *cobra.Command {
	cmd := session.Group("query", "Ask for entities, relations, facts, or what relations lead to", `  onto query entities Customer --where '$.tier == "Gold"'
  onto query relations Subscription --as-of 2026-02-10 --where 'left.$.tier == "Gold" & $.seats > 3'
  onto query entities Customer --group-by '$.tier' --agg count
  onto query traverse Customer --via Subscription
  onto query facts Contract --subject ada --valid-at 2026-05-01
  onto query entities Message --vaults vaults.yaml --tenant acme --limit 20`,
		queryKindCommand(c, onto.KindEntity, "entities", "Customer"),
		queryKindCommand(c, onto.KindRelation, "relations", "Subscription"),
		factsCommand(c), traverseCommand(c))
	cmd.Long = queryHelp
	c.RegisterVaults(cmd.PersistentFlags())
	return cmd
}

// queryHelp is what all queries have in common.
const queryHelp = `Ask questions about now, or about any earlier moment.

Filters (--where) test values in the fields:

  $.tier == "Gold" & ($.age >= 21 | ~$.email.is_null())

  paths      $.a   $.a.b   $."content-type"
             left.$.a and right.$.a: a relation's endpoints, at the same moment
             left.$.a: the subject of a fact
  compare    == != < <= > >=   with a JSON string, number, true or false
  sets       $.tier.in_(["Gold", "Silver"])
  text       $.name.startswith("A")   .endswith("z")   .contains("%")
  nothing    $.email.is_null()   .is_not_null()   missing and null are the same
  bools      $.active.is_true()   .is_false()
  lists      $.tags.any() == "new"   $.events.any_path("kind") == "click"
  logic      & | ~ and parentheses, or: and, or, not

What is missing or of another kind fails a comparison; ~ turns that around.
Case matters. An endpoint that does not exist has no values, so
right.$.sku.is_null() finds relations whose right end does not exist. To find
relations by the key of an end, existing or not, use --left and --right.

Moments (--as-of) are a commit id, head, a date or a time, in UTC unless it says
otherwise. A date is its first moment: --as-of 2026-02-10 shows the state when
that day began. A filter sees one moment only: with --as-of, left.$ and right.$
are the ends as they were then.

With --vaults, entities are those of a tenant: the answers of its shards, merged in
order, so that limit, offset and cursor are about all of them together. The
commit_id of a row is one of the shard that stores it; --as-of takes a time.
Groups, histories, --explain and other questions are for one store.`

func queryKindCommand(c *session.Session, kind onto.Kind, name, example string) *cobra.Command {
	q := queryFlags{kind: kind}
	cmd := &cobra.Command{
		Use:   name + " TYPE",
		Short: "List the " + name + " of a type",
		Long: `List the ` + name + ` of a type, now or as of an earlier moment, in order of identity.
Keys are compared as text, so 10 comes before 9; to have the integer keys of a field
id in order, say --order-by '$.id'. How filters are written: onto query --help

With --with-history, list all versions instead, deletes included, by commit.

With --agg or --group-by, list groups: one for each combination of the values,
with what is computed of them. --having filters the groups, by what is computed
as by what is grouped by: 'count > 3 & sum:$.seats >= 10'. A day, week, month or
year of a time is its first date, in UTC: '$.paid_at.month()'; weeks begin on
Monday.

With --limit, the message on stderr tells the cursor of the next page. A cursor
remembers its moment: pages fit together whatever is committed meanwhile. With
--page, the answer is one JSON document with the cursor in it, null at the end.`,
		Example:           queryExamples(kind, name, example),
		Args:              session.ArgCount(1),
		ValidArgsFunction: session.CompleteType(c, kind),
		RunE:              func(cmd *cobra.Command, args []string) error { return query(c, cmd, &q, args[0]) },
	}
	q.register(cmd)
	flags := cmd.Flags()
	if kind == onto.KindRelation {
		flags.StringArrayVar(&q.left, "left", nil, "only relations from this `KEY`; may be repeated")
		flags.StringArrayVar(&q.right, "right", nil, "only relations to this `KEY`; may be repeated")
	}
	q.registerPages(cmd)
	flags.BoolVar(&q.count, "count", false, "only how many there are")
	flags.BoolVar(&q.history, "with-history", false, "all versions, not only the present ones")
	flags.Int64Var(&q.since, "history-since", 0, "only versions made after commit `ID`; implies --with-history")
	flags.StringArrayVar(&q.groupBy, "group-by", nil, "one row per value of this `PATH`, or per PATH.day(), .week(), .month() or .year() of a time; may be repeated")
	flags.StringArrayVar(&q.selected, "select", nil, "only these columns: a `LIST` of fields, paths into them, "+selectableHelp(kind))
	flags.StringArrayVar(&q.agg, "agg", nil, "compute `LIST`: count, count_distinct:PATH, sum:PATH, avg:PATH, min:PATH, max:PATH, avg_len:PATH")
	flags.StringVar(&q.having, "having", "", "only groups for which this `FILTER` is true")
	return cmd
}

func queryExamples(kind onto.Kind, name, typ string) string {
	where := `'$.tier == "Gold"'`
	order, group, agg := `'$.name:desc'`, `'$.tier'`, `count`
	if kind == onto.KindRelation {
		where = `'left.$.tier == "Gold" & $.seats > 3'`
		order, group, agg = `'$.seats:desc'`, `'left.$.tier'`, `'count,sum:$.seats'`
	}
	columns := map[onto.Kind]string{onto.KindEntity: "name,tier", onto.KindRelation: "left_key,seats"}[kind]
	prefix := "  onto query " + name + " " + typ
	lines := []string{
		prefix,
		prefix + " --as-of 12 --where " + where,
		prefix + " --order-by " + order + " --limit 10",
		prefix + " --group-by " + group + " --agg " + agg + " --having 'count > 1'",
		prefix + " --limit 100 --cursor CURSOR",
		prefix + " --select " + columns + " --format csv",
		prefix + " --history-since 40 --format csv",
		prefix + " --where " + where + " --explain",
	}
	if kind == onto.KindEntity {
		lines = append(lines, prefix+" --search 'ada love*'")
	} else {
		lines = append(lines, prefix+" --right p1 --as-of 12", prefix+" --where 'right.$.sku.is_null()'")
	}
	return strings.Join(lines, "\n")
}

// register adds the flags of questions for entities and relations.
func (q *queryFlags) register(cmd *cobra.Command) {
	q.registerShared(cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.search, "search", "", "only those with all these `WORDS` in their searchable fields; word* for any ending")
	flags.StringArrayVar(&q.orderBy, "order-by", nil, "sort by this `PATH[:desc]`; may be repeated")
	flags.IntVar(&q.offset, "offset", 0, "leave out the first `N`")
	flags.BoolVar(&q.asStored, "as-stored", false, session.AsStoredUsage)
	flags.BoolVar(&q.explain, "explain", false, "show how the question is answered, instead of the answer")
}

// registerShared adds the flags that all questions have.
func (q *queryFlags) registerShared(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&q.where, "where", nil, "only those for which this `FILTER` is true; may be repeated")
	flags.IntVar(&q.limit, "limit", 0, "print at most `N`")
	flags.StringVar(&q.asOf, "as-of", "", session.MomentUsage)
	flags.StringVar(&q.format, "format", "", "the `FORMAT`: table, json, jsonl or csv (default table)")
}

// registerPages adds the flags of answers that have pages.
func (q *queryFlags) registerPages(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&q.cursor, "cursor", "", "go on where a page ended, at its `CURSOR`")
	flags.BoolVar(&q.page, "page", false, `print {"rows":[…],"cursor":…}; implies --json`)
}

// asked is a query whose flags were read.
type asked struct {
	*queryFlags
	name   string
	format terminal.Format
	point  onto.Point
	where  []onto.Filter
	order  []onto.Order
	end    *document.PageEnd // of the answer, if it is to be a page
}

// readQuery reads the flags that all queries have.
func readQuery(c *session.Session, cmd *cobra.Command, q *queryFlags, name string) (asked, error) {
	a := asked{queryFlags: q, name: name}
	var err error
	if a.format, err = c.Format(q.format); err != nil {
		return a, err
	}
	if err := a.checkPage(); err != nil {
		return a, err
	}
	if q.asOf != "" {
		if a.point, err = session.ParsePoint(q.asOf); err != nil {
			return a, err
		}
	}
	if q.limit < 0 || q.limit == 0 && cmd.Flags().Changed("limit") {
		return a, onto.Errorf(onto.Invalid, "--limit %d is too small", q.limit).WithHint("leave it out to get everything")
	}
	if q.offset < 0 {
		return a, onto.Errorf(onto.Invalid, "--offset %d is negative", q.offset).WithHint("leave it out to start at the first")
	}
	for _, text := range q.where {
		f, err := parseWhere(text)
		if err != nil {
			return a, err
		}
		a.where = append(a.where, f)
	}
	for _, text := range q.orderBy {
		o, err := filter.ParseOrder(text)
		if err != nil {
			return a, inFilter("order-by", text, err)
		}
		a.order = append(a.order, o)
	}
	return a, nil
}

// checkPage refuses flags that do not go with --page.
func (a *asked) checkPage() error {
	switch {
	case !a.page:
		return nil
	case a.explain, a.count:
		return onto.Errorf(onto.Invalid, "--page is for rows").WithHint("leave out --page, --explain and --count as needed")
	case a.queryFlags.format != "" && a.format != terminal.FormatJSON:
		return onto.Errorf(onto.Invalid, "--page and --format %s contradict each other", a.format).WithHint("a page is JSON; give one of them")
	}
	a.format, a.end = terminal.FormatJSON, &document.PageEnd{}
	return nil
}

// endWith closes a page, and tells the cursor of the next one, "" for none.
func (a *asked) endWith(c *session.Session, cursor string, shut func() error) error {
	if cursor != "" && a.end != nil {
		a.end.Cursor = &cursor
	}
	err := shut()
	if err == nil && cursor != "" && a.end == nil {
		c.Say("more: --cursor %s", cursor)
	}
	return err
}

func parseWhere(text string) (onto.Filter, error) {
	f, err := filter.Parse(text)
	if err != nil {
		return nil, inFilter("where", text, err)
	}
	return f, nil
}

// inFilter says which flag an error about a text is from.
func inFilter(flag, text string, err error) error {
	named := onto.Errorf(onto.CodeOf(err), "--%s %.200s: %w", flag, text, err)
	if onto.HintOf(err).Text == "" {
		return named.WithHint("see how filters are written").WithCommand("query", "--help")
	}
	return named
}

func query(c *session.Session, cmd *cobra.Command, q *queryFlags, name string) error {
	q.history = q.history || cmd.Flags().Changed("history-since")
	if err := session.NotNegative("history-since", q.since); err != nil {
		return err
	}
	a, err := readQuery(c, cmd, q, name)
	if err != nil {
		return err
	}
	groups, err := q.groups(cmd)
	if err != nil {
		return err
	}
	if groups != nil && len(q.selected) > 0 {
		return onto.Errorf(onto.Invalid, "--select does not go with groups").WithHint("groups have the columns of --group-by and --agg")
	}
	if err := q.checkCount(cmd, groups != nil); err != nil {
		return err
	}
	ctx := cmd.Context()
	sharded, err := c.Sharded()
	if err != nil {
		return err
	}
	if sharded && q.kind == onto.KindEntity {
		return queryTenant(ctx, c, &a, groups != nil)
	}
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		if err := a.pin(ctx, s); err != nil {
			return err
		}
		shape, err := newShape(a.view(s), q.kind, name, q.history)
		if err != nil {
			return err
		}
		if err := a.check(s, shape.schema, groups); err != nil {
			return err
		}
		if err := shape.choose(q.selected, scopeOf(a.view(s), shape.schema)); err != nil {
			return err
		}
		if groups != nil {
			return queryGroups(ctx, c, s, groups, a)
		}
		if q.count {
			n, err := a.find(s).Count(ctx)
			return count(c, n, err, a.format)
		}
		return queryVersions(ctx, c, s, shape, a)
	})
}

// checkCount refuses flags that do not go with --count.
func (q *queryFlags) checkCount(cmd *cobra.Command, groups bool) error {
	changed := cmd.Flags().Changed
	switch {
	case !q.count:
		return nil
	case groups, q.history, q.explain:
		return onto.Errorf(onto.Invalid, "--count counts what there is at one moment").WithHint("leave it out; --agg count counts groups, and versions with --with-history")
	case changed("limit"), changed("offset"), q.cursor != "":
		return onto.Errorf(onto.Invalid, "--count counts all, so --limit, --offset and --cursor do not go with it").WithHint("leave them out")
	}
	return nil
}

// view is the moment of the question.
func (a *asked) view(s *store.Store) store.View { return viewOf(s, a.point, a.asStored) }

// pin finds the commit that the question is about: types may be shown as they were then.
func (a *asked) pin(ctx context.Context, s *store.Store) error {
	if a.point.IsHead() {
		return nil
	}
	c, err := s.View(a.point).Commit(ctx)
	a.point = onto.AtCommit(c.ID)
	return err
}

// viewOf views a point, as stored if that is wanted.
func viewOf(s *store.Store, p onto.Point, asStored bool) store.View {
	view := s.View(p)
	if asStored {
		return view.AsStored()
	}
	return view
}

// find is the store's form of the question.
func (a *asked) find(s *store.Store) store.Query[onto.Version] {
	q := a.view(s).FindKind(a.kind, a.name).Where(a.where...).From(a.left...).To(a.right...).After(a.cursor)
	if a.search != "" {
		q = q.Search(a.search)
	}
	return q
}

// queryVersions prints versions: all, or a page of them.
func queryVersions(ctx context.Context, c *session.Session, s *store.Store, shape *shape, a asked) error {
	q := a.find(s).OrderBy(a.order...).Offset(a.offset).Limit(a.limit)
	if a.explain {
		if a.limit > 0 {
			q = q.Limit(a.limit + 1) // a page reads one more, to know whether it is the last
		}
		explained, err := q.Explain(ctx)
		if a.history {
			explained, err = q.ExplainVersions(ctx, a.since)
		}
		return explain(c, a, explained, err)
	}
	out := terminal.NewList(c.Printer, a.format, shape.columns, shape.document, shape.cells)
	if a.end != nil {
		out.Paged(a.end)
	}
	var err error
	next := ""
	switch {
	case a.limit > 0:
		next, err = queryPage(ctx, q, a, out)
	case a.history:
		err = session.Each(q.Versions(ctx, a.since), out.Add)
	default:
		err = session.Each(q.All(ctx), func(v onto.Version) error { return out.Add(present(v)) })
	}
	if err != nil {
		return err
	}
	return a.endWith(c, next, func() error { return out.Close(a.none(ctx, s, a.name)) })
}

// none says that there is no such thing, or that the store was empty then.
func (a *asked) none(ctx context.Context, s *store.Store, what string) string {
	if commit, err := s.View(a.point).Commit(ctx); a.asOf != "" && err == nil && commit.ID == 0 {
		return "no " + what + ": the first commit was made after " + a.asOf
	}
	return "no " + what
}

// queryPage lists a page, and returns the cursor of the next one.
func queryPage(ctx context.Context, q store.Query[onto.Version], a asked, out *terminal.List[store.Versioned[onto.Version]]) (string, error) {
	var page store.Page[store.Versioned[onto.Version]]
	var err error
	if a.history {
		page, err = q.VersionPage(ctx, a.since)
	} else {
		var now store.Page[onto.Version]
		now, err = q.Page(ctx)
		page.Next = now.Next
		for _, v := range now.Items {
			page.Items = append(page.Items, present(v))
		}
	}
	if err != nil {
		return "", err
	}
	for _, p := range page.Items {
		if err := out.Add(p); err != nil {
			return "", err
		}
	}
	return page.Next, nil
}
