package store

import (
	"context"
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/catalog"
)

// check refuses types that no upgrader could lead to, and what looks
// like a mistake.
func (p *migrationPlan) check(schemas []onto.Schema, given upgraders) error {
	renamed := map[string]string{} // from the old name to the new one
	for name, u := range given {
		if name.version != 0 {
			continue
		}
		if err := p.checkRename(&u, schemas); err != nil {
			return err
		}
		if other, twice := renamed[u.RenamedFrom]; twice {
			return onto.Errorf(onto.Invalid, "%s is renamed to %s and to %s", u.RenamedFrom, other, u.Type)
		}
		renamed[u.RenamedFrom] = u.Type
	}
	left := slices.DeleteFunc(typelist.Newest(p.stored), func(v onto.SchemaVersion) bool { return renamed[v.Schema.Name] != "" })
	if err := checkEndpoints(left, schemas); err != nil {
		return err
	}
	if err := checkLeftBehind(left, schemas, renamed); err != nil {
		return err
	}
	for i := range schemas {
		g := &schemas[i]
		old, ok := p.s.catalog().Present[onto.TypeName{Kind: g.Kind, Name: g.Name}]
		if from := given[upgraderName{g.Name, 0}].RenamedFrom; from != "" {
			old, ok = p.s.catalog().Present[onto.TypeName{Kind: g.Kind, Name: from}]
		}
		var err error
		if ok {
			err = checkIdentityKept(&old.Schema, g, renamed)
		} else if !p.joining {
			err = p.checkNew(g, schemas, renamed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRename checks the renaming of a type.
func (p *migrationPlan) checkRename(u *Upgrader, schemas []onto.Schema) error {
	i := slices.IndexFunc(schemas, func(g onto.Schema) bool { return g.Name == u.Type })
	switch {
	case i < 0:
		return onto.Errorf(onto.Invalid, "%s: the new name is not among the given types", u.step()).WithHint("give the type %s", u.Type)
	case slices.ContainsFunc(schemas, func(g onto.Schema) bool { return g.Name == u.RenamedFrom }):
		return onto.Errorf(onto.Invalid, "%s: the old name is among the given types", u.step()).WithHint("leave out the type %s", u.RenamedFrom)
	}
	if _, err := p.s.catalog().Get(schemas[i].Kind, u.RenamedFrom); err != nil {
		return err
	}
	if _, taken := p.s.catalog().Present[onto.TypeName{Kind: schemas[i].Kind, Name: u.Type}]; taken {
		return onto.Errorf(onto.Conflict, "%s: there is a type %s already", u.step(), u.Type).
			WithHint("two types cannot become one; write an upgrade program of your own that moves the data")
	}
	return nil
}

// checkLeftBehind finds stored relations and facts that would point at a renamed type
// under its old name.
func checkLeftBehind(left []onto.SchemaVersion, schemas []onto.Schema, renamed map[string]string) error {
	for _, v := range left {
		r := &v.Schema
		if slices.ContainsFunc(schemas, func(g onto.Schema) bool { return g.Name == r.Name }) {
			continue
		}
		for _, end := range endpoints(r) {
			switch to := renamed[end]; {
			case to == "":
			case r.Kind == onto.KindFact:
				return onto.Errorf(onto.Invalid, "the facts %s are about %s, which is renamed to %s", r.Name, end, to).
					WithHint("give %s as well, with the subject %s", r.Name, to)
			default:
				return onto.Errorf(onto.Invalid, "relation %s has the endpoint %s, which is renamed to %s", r.Name, end, to).
					WithHint("give %s as well, with the endpoint %s", r.Name, to)
			}
		}
	}
	return nil
}

// checkIdentityKept refuses changes that would make other identities of the stored
// ones: an upgrader changes fields, never an identity.
func checkIdentityKept(old, g *onto.Schema, renamed map[string]string) error {
	hint := "make a new type and move the data to it"
	if g.Kind == onto.KindFact && old.Left != g.Left && (g.Left == "" || renamed[old.Left] != g.Left) {
		return onto.Errorf(onto.Invalid, "%s: the facts are about %s and were about %s", g.Name, orTexts(g.Left), orTexts(old.Left)).
			WithHint("if the type of the subjects got a new name, say that it is renamed; otherwise %s", hint)
	}
	for _, end := range []struct{ name, was, is string }{{"left", old.Left, g.Left}, {"right", old.Right, g.Right}} {
		if end.was != end.is && renamed[end.was] != end.is {
			return onto.Errorf(onto.Invalid, "%s: the %s endpoint is %s and was %s", g.Name, end.name, end.is, end.was).
				WithHint("if %s got a new name, say that it is renamed; otherwise %s", end.was, hint)
		}
	}
	if (old.InstanceKey == "") != (g.InstanceKey == "") {
		return onto.Errorf(onto.Invalid, "%s: relations with an instance key cannot become ones without, nor the other way round", g.Name).
			WithHint("%s", hint)
	}
	was, _ := old.Field(old.Key)
	is, _ := g.Field(g.Key)
	if old.Kind == onto.KindEntity && was.Type == onto.String && is.Type == onto.Int {
		return onto.Errorf(onto.Invalid, "%s: the key %s is an int and was a string, which not every key can become", g.Name, g.Key).
			WithHint("%s", hint)
	}
	return nil
}

// checkAttributes refuses a change of facts by which some that are believed now would
// be left out.
func (p *migrationPlan) checkAttributes(ctx context.Context, t *TypeMigration) error {
	from, to := &t.source.Schema, t.changed
	if to.Kind != onto.KindFact || to.Open {
		return nil
	}
	refuse := func(q backend.Query, which string) error {
		q.Kind, q.Type, q.Schema, q.At = from.Kind, from.Name, from, p.Head
		if n, err := tally(ctx, p.s.b, &q); n == 0 || err != nil {
			return err
		}
		return onto.Errorf(onto.Refused, "%s: there are facts on %s, which the type would not have any more", to.Name, which).
			WithHint("retract them first, or keep it in the type")
	}
	for _, f := range from.Attributes() {
		if _, kept := to.Field(f.Name); kept {
			continue
		}
		if err := refuse(backend.Query{RightKeys: []string{f.Name}}, f.Name); err != nil {
			return err
		}
	}
	if !from.Open {
		return nil
	}
	undeclared := onto.Not{Of: onto.Path(onto.FactValue).IsNull()}
	return refuse(backend.Query{Where: undeclared}, "attributes that are not declared")
}

// orTexts names the type of subjects.
func orTexts(subject string) string {
	if subject == "" {
		return "any texts"
	}
	return subject
}

// checkNew refuses a new type that looks like a stored one under another name, if that
// one is not given: it may have been renamed by mistake.
func (p *migrationPlan) checkNew(g *onto.Schema, schemas []onto.Schema, renamed map[string]string) error {
	for _, t := range p.s.catalog().EveryType() {
		o := &t.Schema
		given := slices.ContainsFunc(schemas, func(other onto.Schema) bool { return other.Name == o.Name })
		if t.End != nil || o.Kind != g.Kind || given || renamed[o.Name] != "" || !alike(o, g) {
			continue
		}
		return onto.Errorf(onto.Conflict, "%s is not stored, and %s, which is much like it, is not among the given types", g.Name, o.Name).
			WithHint("if it is a slip, write %s; if %s got a new name, say renamed_from: %s under %s in the upgraders file; if both are wanted, give both", o.Name, o.Name, o.Name, g.Name)
	}
	return nil
}

// alike reports whether two types could be the same one under two names.
func alike(a, b *onto.Schema) bool {
	if suggest.Name(a.Name, []string{b.Name}) != "" && len(common(a, b)) > 1 {
		return true
	}
	most := max(len(ownFields(a)), len(ownFields(b)))
	return most > 1 && 4*len(common(a, b)) >= 3*most
}

// common returns the fields that two types share.
func common(a, b *onto.Schema) []onto.Field {
	return slices.DeleteFunc(ownFields(a), func(was onto.Field) bool {
		is, ok := b.Field(was.Name)
		return !ok || was.Type != is.Type
	})
}

// ownFields returns the fields of a type without those that every type of facts has.
func ownFields(s *onto.Schema) []onto.Field {
	if s.Kind == onto.KindFact {
		return s.Attributes()
	}
	return slices.Clone(s.Fields)
}

// checkUsed refuses upgraders that no step uses.
func (p *migrationPlan) checkUsed(given upgraders, schemas []onto.Schema) error {
	for name, u := range given {
		if name.version == 0 {
			continue // checked as a renaming
		}
		i := slices.IndexFunc(schemas, func(g onto.Schema) bool { return g.Name == name.typ })
		if i < 0 {
			return catalog.UnknownName(onto.Errorf(onto.Invalid, "there is an upgrader for %s, which is not among the given types", name.typ),
				name.typ, namesOf(schemas), "give the type as well")
		}
		known := typelist.NextVersion(p.stored, schemas[i].TypeName())
		for _, t := range p.Types {
			if t.Name == name.typ && t.changed != nil {
				known = t.To + 1
			}
		}
		if name.version >= known {
			return onto.Errorf(onto.Invalid, "there is an upgrader for %s, but %s has only %d versions", u.step(), name.typ, known-1).
				WithHint("an upgrader stands under the number of the version whose fields it takes")
		}
	}
	return nil
}

func namesOf(schemas []onto.Schema) []string {
	names := make([]string, len(schemas))
	for i, s := range schemas {
		names[i] = s.Name
	}
	return names
}
