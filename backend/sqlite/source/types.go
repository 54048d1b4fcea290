package source

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/typelist"
)

// typ is a type of the file, and what it is in the copy.
type typ struct {
	was      onto.TypeName
	name     onto.TypeName
	own      bool              // this program has made its newest version
	fields   map[string]string // new names by those in the file; nil if all stay
	versions []version
}

// version is a version of a type. Its numbers have no gaps in the copy.
type version struct {
	onto.SchemaVersion            // of the copy; Since and End.Commit are set when the log is planned
	was                int64      // its number in the file
	since              int64      // as stored in the file; 0 if it is not
	key                onto.Field // as it was; its type differs where keys become text
}

// types is the types of a file.
type types struct {
	list  []*typ
	byWas map[onto.TypeName]*typ
	names *names
}

// readTypes reads the types, without the commits that they begin and end with.
func (f *File) readTypes(ctx context.Context, c *driver.Conn) (*types, error) {
	n, err := newNames(f.opts.Rename)
	if err != nil {
		return nil, err
	}
	t := &types{byWas: map[onto.TypeName]*typ{}, names: n}
	flags := map[onto.TypeName]onto.Schema{}
	if f.shape.has("schema_versions") {
		sql := fmt.Sprintf(`SELECT type_kind, type_name, schema_version_id, schema_json, created_at, %s, %s, %s, %s, %s
			FROM main.schema_versions ORDER BY 1, 2, 3, id`, f.columns("schema_versions", "runtime_id", "reason", "onto_since", "onto_upgrader", "onto_end")...)
		if err := c.Each(ctx, sql, nil, t.addVersion); err != nil {
			return nil, err
		}
	}
	if f.shape.has("schema_registry") {
		err := c.Each(ctx, `SELECT type_kind, type_name, schema_json FROM main.schema_registry ORDER BY 1, 2`, nil, func(r *driver.Rows) error {
			name := onto.TypeName{Kind: onto.Kind(r.Text(0)), Name: r.Text(1)}
			s, own, err := parseSchema(name.Kind, name.Name, r.Bytes(2))
			if flags[name] = s; err == nil && t.byWas[name] == nil { // it is from before versions were kept
				v := version{SchemaVersion: onto.SchemaVersion{Schema: s, Reason: "bootstrap"}, was: 1}
				err = t.add(name, own, v)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if err := t.rename(f.place.Path, flags); err != nil {
		return nil, err
	}
	return t, t.learn(f.opts.Upgraders)
}

// columns is columns of a table, or what stands for them, as arguments of Sprintf.
func (f *File) columns(table string, names ...string) []any {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = f.shape.column(table, name)
	}
	return list
}

// addVersion adds a row of schema_versions.
func (t *types) addVersion(r *driver.Rows) error {
	name, number := onto.TypeName{Kind: onto.Kind(r.Text(0)), Name: r.Text(1)}, r.Int(2)
	s, own, err := parseSchema(name.Kind, name.Name, r.Bytes(3))
	if err != nil {
		return err
	}
	v := version{was: number, since: r.Int(7), SchemaVersion: onto.SchemaVersion{
		Schema: s, Created: storedTime(r.Text(4)), Runtime: r.Text(5), Reason: r.Text(6),
	}}
	if !r.Null(8) {
		v.Upgrader = new(onto.StoredUpgrader)
		err = json.Unmarshal(r.Bytes(8), v.Upgrader)
	}
	if !r.Null(9) && err == nil {
		v.End = new(onto.End)
		err = json.Unmarshal(r.Bytes(9), v.End)
	}
	if err != nil || number < 1 || number > math.MaxInt32 || v.since < 0 {
		return onto.Errorf(onto.Corrupt, "%s %s: what is kept with schema version %d cannot be read", name.Kind, name.Name, number).
			WithHint("look at it with: sqlite3 FILE 'SELECT * FROM schema_versions'")
	}
	return t.add(name, own, v)
}

// add adds the next version of a type.
func (t *types) add(name onto.TypeName, own bool, v version) error {
	if !slices.Contains(onto.Kinds(), name.Kind) {
		return onto.Errorf(onto.Unsupported, "type %q is of the kind %q, which is not known", name.Name, name.Kind).WithHint("use a newer version of this program")
	}
	of := t.byWas[name]
	if of == nil {
		of = &typ{was: name}
		t.byWas[name] = of
		t.list = append(t.list, of)
	}
	if last := len(of.versions) - 1; last >= 0 && of.versions[last].was == v.was {
		return nil // a unique index forbids it
	}
	of.own = own
	of.versions = append(of.versions, v)
	return nil
}

// rename gives types and fields their names in the copy, and checks what they are then.
func (t *types) rename(path string, flags map[onto.TypeName]onto.Schema) error {
	taken := map[string]onto.TypeName{}
	for _, of := range t.list {
		of.name = onto.TypeName{Kind: of.was.Kind, Name: t.names.typ(of.was, of.own)}
		if by, ok := taken[of.name.Name]; ok {
			return onto.Errorf(onto.Conflict, "%s: the %s %q and the %s %q would both be called %s", path, by.Kind, by.Name, of.was.Kind, of.was.Name, of.name.Name).
				WithHint("give one of them another name: --rename '%s %s=NAME'", of.was.Kind, of.was.Name)
		}
		taken[of.name.Name] = of.was
	}
	for _, of := range t.list {
		for i := range of.versions {
			t.renameVersion(of, &of.versions[i])
		}
	}
	if err := t.names.check(path); err != nil {
		return err
	}
	for _, of := range t.list {
		for i := range of.versions {
			if err := of.finish(i, t, flags[of.was]); err != nil {
				return onto.Errorf(onto.CodeOf(err), "%s: version %d of %s %q: %w", path, of.versions[i].was, of.was.Kind, of.was.Name, err)
			}
		}
	}
	slices.SortFunc(t.list, func(a, b *typ) int { return a.name.Compare(b.name) })
	return nil
}

// renameVersion gives the fields and endpoints of a version their names in the copy.
func (t *types) renameVersion(of *typ, v *version) {
	field := func(name string) string {
		changed := t.names.field(of.was.Name, name, of.own)
		if changed != name {
			if of.fields == nil {
				of.fields = map[string]string{}
			}
			of.fields[name] = changed
		}
		return changed
	}
	end := func(name string) string {
		e := onto.TypeName{Kind: onto.KindEntity, Name: name}
		if known := t.byWas[e]; known != nil {
			return known.name.Name
		}
		if name == "" {
			return ""
		}
		return t.names.typ(e, of.own)
	}
	s := &v.Schema
	s.Name = of.name.Name
	v.key, _ = s.Field(s.Key)
	s.Left, s.Right = end(s.Left), end(s.Right)
	for i := range s.Fields {
		s.Fields[i].Name = field(s.Fields[i].Name)
	}
	if s.Key != "" {
		s.Key = field(s.Key)
	}
	if s.InstanceKey != "" {
		s.InstanceKey = field(s.InstanceKey)
	}
	s.SortFields()
}

// finish completes a version: it has the number that follows, keys are text or integers,
// and the newest one has the flags of the registry.
func (of *typ) finish(i int, t *types, flags onto.Schema) error {
	v := &of.versions[i]
	for j := range v.Schema.Fields {
		if f := &v.Schema.Fields[j]; f.Name == v.Schema.Key && f.Type != onto.Int {
			f.Type = onto.String
		}
	}
	if err := v.Schema.Check(); err != nil {
		return err
	}
	kept := typelist.New(v.Schema, i+1)
	v.Version, v.JSON, v.Hash = kept.Version, kept.JSON, kept.Hash
	if flags.Name != "" && i == len(of.versions)-1 {
		for j := range flags.Fields {
			if name, ok := of.fields[flags.Fields[j].Name]; ok {
				flags.Fields[j].Name = name
			}
		}
		flags.SortFields()
		v.Schema = v.Schema.WithFlags(flags)
	}
	if u := v.Upgrader; u != nil {
		if u.Program != "" && of.fields != nil {
			v.Upgrader = nil // it is written for names that are no more
		} else if from := t.byWas[onto.TypeName{Kind: of.was.Kind, Name: u.RenamedFrom}]; from != nil {
			u.RenamedFrom, u.FromVersion = from.name.Name, from.number(int64(u.FromVersion))
		}
	}
	if v.End != nil {
		if to := t.byWas[onto.TypeName{Kind: of.was.Kind, Name: v.End.RenamedTo}]; to != nil {
			v.End.RenamedTo = to.name.Name
		}
	}
	return nil
}

// number is the number in the copy of a version of the file; 0 if it does not exist.
func (of *typ) number(was int64) int {
	return 1 + slices.IndexFunc(of.versions, func(v version) bool { return v.was == was })
}

// learn attaches the upgraders that were given.
func (t *types) learn(given []backend.TypeUpgrader) error {
	for i := range given {
		g := &given[i]
		at := slices.IndexFunc(t.list, func(of *typ) bool { return of.name.Name == g.Type && (g.Kind == "" || of.name.Kind == g.Kind) })
		if at < 0 || g.Version < 2 || g.Version > len(t.list[at].versions) {
			return onto.Errorf(onto.Invalid, "%s has no version %d that follows another one", g.Type, g.Version).
				WithHint("the plan of the copy names the steps that lack one")
		}
		v := &t.list[at].versions[g.Version-1]
		if v.Upgrader != nil && *v.Upgrader != g.Upgrader {
			return onto.Errorf(onto.Invalid, "version %d of %s has an upgrader already", g.Version, g.Type).WithHint("leave this one out")
		}
		u := g.Upgrader
		v.Upgrader = &u
	}
	return nil
}

// lacking names the steps between versions that need an upgrader and have none.
func (t *types) lacking() (list []backend.LogNote) {
	for _, of := range t.list {
		for i := 1; i < len(of.versions); i++ {
			from, to := &of.versions[i-1], &of.versions[i]
			if from.End == nil && to.Upgrader == nil && !onto.Compatible(from.Schema, to.Schema) {
				list = append(list, backend.LogNote{Code: backend.UpgraderLacking, Of: fmt.Sprintf("%s %d->%d", of.name.Name, i, i+1), Count: 1})
			}
		}
	}
	return list
}

// maxStamps bounds how many kinds of stamps are told apart. A file has as many as its types
// have versions; more are in a file that was made for this.
const maxStamps = 100_000

// saw notes that a row of a commit has a stamp.
func saw(stamps map[stamp]span, s stamp, commit int64) {
	seen, ok := stamps[s]
	if !ok {
		if len(stamps) >= maxStamps || len(s.name) > onto.MaxKey {
			return
		}
		seen = span{commit, commit}
	}
	stamps[s] = span{min(seen.first, commit), max(seen.last, commit)}
}

// settle finds out with which commits the versions begin and end. Versions of the original,
// and of the first formats of this program, do not say. They begin with the first commit
// that has a row of them, or that is not before them; which stays so while the file grows.
func (f *File) settle(ctx context.Context, c *driver.Conn, t *types, p *plan) error {
	for _, of := range t.list {
		least := int64(1)
		for i := range of.versions {
			v := &of.versions[i]
			since, err := f.since(ctx, c, p, of, i)
			if err != nil {
				return err
			}
			v.Since = max(since, least)
			least = v.Since
			if v.End != nil {
				if v.End.Commit, _, err = p.rank(ctx, c, v.End.Commit); err != nil {
					return err
				}
				least = max(least, v.End.Commit)
			}
		}
	}
	return nil
}

func (f *File) since(ctx context.Context, c *driver.Conn, p *plan, of *typ, i int) (int64, error) {
	v := &of.versions[i]
	if v.since > 0 {
		since, _, err := p.rank(ctx, c, v.since)
		return since, err
	}
	if i == 0 {
		return 1, nil
	}
	first, older := int64(math.MaxInt64), int64(math.MinInt64)
	for s, seen := range p.stamps {
		switch {
		case s.name != of.was.Name || s.kind != kindAt(of.was.Kind) || of.number(s.version) == 0:
		case s.version >= v.was:
			first = min(first, seen.first)
		default:
			older = max(older, seen.last)
		}
	}
	since := p.head + 1
	if first < math.MaxInt64 {
		var err error
		if since, _, err = p.rank(ctx, c, first); err != nil || older >= first {
			return since, err
		}
	}
	byTime := p.head + 1
	if !v.Created.IsZero() {
		n, err := c.QueryIntContext(ctx, `SELECT ifnull(min(id), ?) FROM plan.log WHERE at >= ?`, p.head+1, v.Created.UnixMicro())
		if err != nil {
			return 0, err
		}
		byTime = n
	}
	if older > math.MinInt64 {
		n, _, err := p.rank(ctx, c, older)
		if err != nil {
			return 0, err
		}
		byTime = max(byTime, n+1)
	}
	return min(since, byTime), nil
}

// inForce is the version with which rows of a commit are stamped; nil if the type does not
// exist then. The commit that ends a type deletes what there is of it.
func (of *typ) inForce(commit int64, op onto.Op) *version {
	for i := len(of.versions) - 1; i >= 0; i-- {
		v := &of.versions[i]
		switch {
		case v.Since > commit:
		case v.End == nil || commit < v.End.Commit && !v.End.Purged, op == onto.Delete && commit == v.End.Commit && !v.End.Purged:
			return v
		default:
			return nil
		}
	}
	return nil
}

// all is the types as Schemas returns them.
func (t *types) all() []onto.SchemaVersion {
	var list []onto.SchemaVersion
	for _, of := range t.list {
		for i := range of.versions {
			list = append(list, of.versions[i].SchemaVersion)
		}
	}
	return typelist.Copy(list)
}
