package backendtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// The types of the tests: persons and cities; persons who know each other, and persons'
// visits to cities, of which there can be several, distinguished by trip; claims about
// persons, and notes about anything, which may have other attributes too.
const (
	tPerson = "Person"
	tCity   = "City"
	tKnows  = "Knows"
	tVisit  = "Visit"
	tClaim  = "Claim"
	tNote   = "Note"
)

func person(key string) onto.Identity        { return onto.EntityID(tPerson, key) }
func city(key string) onto.Identity          { return onto.EntityID(tCity, key) }
func knows(left, right string) onto.Identity { return onto.RelationID(tKnows, left, right) }
func visit(left, right, trip string) onto.Identity {
	return onto.RelationID(tVisit, left, right).WithInstance(trip)
}
func claim(person, attribute, id string) onto.Identity {
	return onto.FactID(tClaim, person, attribute, id)
}
func note(subject, attribute, id string) onto.Identity {
	return onto.FactID(tNote, subject, attribute, id)
}

// variety is a type of the tests for stories that are told of several.
type variety struct {
	onto.TypeName
	one func(key string) onto.Identity                   // of any key
	tie func(left, right, instance string) onto.Identity // nil for entities
}

func cities() variety {
	return variety{TypeName: onto.TypeName{Kind: onto.KindEntity, Name: tCity}, one: city}
}

func visits() variety {
	return variety{onto.TypeName{Kind: onto.KindRelation, Name: tVisit}, func(key string) onto.Identity { return visit(key, "m", "1") }, visit}
}

func claims() variety {
	return variety{onto.TypeName{Kind: onto.KindFact, Name: tClaim}, func(key string) onto.Identity { return claim(key, "n", "1") }, claim}
}

// renamed is the type under another name, and its schema.
func (v variety) renamed(name string) (variety, onto.Schema) {
	schema := *schemaOf(testSchemas(), v.Name)
	schema.Name = name
	one := v.one
	v.Name = name
	v.one = func(key string) onto.Identity {
		id := one(key)
		id.Type = name
		return id
	}
	v.tie = nil
	return v, schema
}

// end is the end of the type.
func (v variety) end() backend.EndedType { return backend.EndedType{Kind: v.Kind, Type: v.Name} }

// of makes a story about a type.
func (v variety) of(tell func(*story, variety)) func(*story) {
	return func(s *story) { tell(s, v) }
}

// testSchemas returns the types of the tests.
func testSchemas() []onto.Schema {
	fields := func(key bool) []onto.Field {
		list := []onto.Field{
			{Name: "n", Type: onto.Int, Optional: true},
			{Name: "t", Type: onto.String, Optional: true},
			{Name: "v", Type: onto.Any, Optional: true},
		}
		if key {
			list = slices.Insert(list, 0, onto.Field{Name: "id", Type: onto.String})
		}
		return list
	}
	return []onto.Schema{
		{Kind: onto.KindEntity, Name: tPerson, Key: "id", Fields: fields(true)},
		{Kind: onto.KindEntity, Name: tCity, Key: "id", Fields: fields(true)},
		{Kind: onto.KindRelation, Name: tKnows, Left: tPerson, Right: tPerson, Fields: fields(false)},
		{Kind: onto.KindRelation, Name: tVisit, Left: tPerson, Right: tCity, InstanceKey: "trip", Fields: fields(false)},
		facts(onto.Schema{Name: tClaim, Left: tPerson, Fields: fields(false)}),
		facts(onto.Schema{Name: tNote, Open: true, Fields: fields(false)}),
	}
}

// facts makes a type of facts, whose attribute v has several values at once.
func facts(s onto.Schema) onto.Schema {
	s.Kind = onto.KindFact
	for i := range s.Fields {
		s.Fields[i].Many = s.Fields[i].Name == "v"
	}
	s, err := onto.Untyped(s).Schema()
	if err != nil {
		panic(err) // the tests' own types are well formed
	}
	return s
}

// put wants the field n of an identity to be a number.
func put(id onto.Identity, n int) backend.Write { return putField(id, "n", fmt.Sprint(n)) }

// putValue wants the field v of an identity to be a canonical JSON value.
func putValue(id onto.Identity, value string) backend.Write { return putField(id, "v", value) }

func putField(id onto.Identity, name, value string) backend.Write {
	return putMembers(id, []codec.Member{{Name: name, Value: []byte(value)}})
}

// set wants an identity to have these fields, given as JSON.
func set(id onto.Identity, fields string) backend.Write {
	members, err := codec.ParseObject([]byte(fields))
	if err != nil {
		panic(err) // the tests' own fields are JSON
	}
	return putMembers(id, members)
}

// putMembers wants an identity to have these fields, and an entity its key
// before them.
func putMembers(id onto.Identity, members []codec.Member) backend.Write {
	if id.Kind == onto.KindEntity {
		key, err := codec.AppendString(nil, id.Key)
		if err != nil {
			panic(err) // the tests' own keys are text
		}
		members = slices.Insert(members, 0, codec.Member{Name: "id", Value: key})
	}
	return backend.Write{Identity: id, Op: onto.Put, Fields: codec.AppendObject(nil, members), SchemaVersion: 1}
}

// remove wants an identity not to exist.
func remove(id onto.Identity) backend.Write {
	return backend.Write{Identity: id, Op: onto.Delete, SchemaVersion: 1}
}

// once makes a write that is only for an identity without versions.
func once(w backend.Write) backend.Write {
	w.Once = true
	return w
}

// derived makes a write that follows from the rest of its draft.
func derived(w backend.Write) backend.Write {
	w.Derived = true
	return w
}

// made is the version that put makes.
func made(id onto.Identity, commit int64, n int) *onto.Version {
	return &onto.Version{Identity: id, Op: onto.Put, Commit: commit, SchemaVersion: 1, Fields: put(id, n).Fields}
}

// gone is the version that remove makes.
func gone(id onto.Identity, commit int64) *onto.Version {
	return &onto.Version{Identity: id, Op: onto.Delete, Commit: commit, SchemaVersion: 1, Fields: []byte("{}")}
}

// row shows the version that put makes.
func row(id onto.Identity, commit int64, n int) string { return showVersion(*made(id, commit, n)) }

// stamped makes a write for another version of its type.
func stamped(w backend.Write, version int) backend.Write {
	w.SchemaVersion = version
	return w
}

// draft makes a draft of writes in any order.
func draft(writes ...backend.Write) *backend.Draft {
	writes = slices.Clone(writes)
	slices.SortFunc(writes, func(a, b backend.Write) int { return a.Identity.Compare(b.Identity) })
	return &backend.Draft{Writes: writes}
}

// keyed makes a draft with an idempotency key.
func keyed(key string, writes ...backend.Write) *backend.Draft {
	d := draft(writes...)
	d.IdempotencyKey = key
	return d
}

// expecting makes a draft with expectations.
func expecting(expect []onto.Expectation, writes ...backend.Write) *backend.Draft {
	d := draft(writes...)
	d.Expect = expect
	return d
}

func headIs(commit int64) onto.Expectation { return onto.Expectation{Head: true, Commit: commit} }
func isAt(id onto.Identity, commit int64) onto.Expectation {
	return onto.Expectation{Identity: id, Commit: commit}
}

// stateOf asks for the live versions of a type.
func stateOf(kind onto.Kind, typ string, at int64) *backend.Query {
	return &backend.Query{Kind: kind, Type: typ, At: at}
}

// historyOf asks for all versions of a type.
func historyOf(kind onto.Kind, typ string, at int64) *backend.Query {
	return &backend.Query{Kind: kind, Type: typ, At: at, Mode: backend.History}
}

// What follows formats answers, on one line each, so that they can be written down in
// tests and compared between backends. Nothing is left out.

func showVersion(v onto.Version) string {
	stamp := ""
	if v.SchemaVersion != 1 {
		stamp = fmt.Sprintf(" v%d", v.SchemaVersion)
	}
	if v.Op == onto.Delete && string(v.Fields) == "{}" {
		return fmt.Sprintf("%s @%d%s deleted", v.Identity, v.Commit, stamp)
	}
	if v.Op != onto.Put {
		stamp += " " + string(v.Op)
	}
	return fmt.Sprintf("%s @%d%s %s", v.Identity, v.Commit, stamp, v.Fields)
}

func showChange(c onto.Change) string {
	side := func(v *onto.Version) string {
		if v == nil {
			return "nothing"
		}
		if v.Identity != c.Identity {
			return "ANOTHER IDENTITY " + showVersion(*v)
		}
		return strings.TrimPrefix(showVersion(*v), v.Identity.String()+" ")
	}
	return fmt.Sprintf("%s: %s, then %s", c.Identity, side(c.Before), side(c.After))
}

func showCommit(c onto.Commit) string {
	if c.ID == 0 {
		return "no commit"
	}
	line := fmt.Sprintf("#%d %s %d operations", c.ID, codec.FormatTime(c.Time), c.Operations)
	for _, part := range []struct{ name, text string }{
		{"runtime", c.Runtime}, {"actor", c.Actor.String()}, {"correlation", c.Correlation},
		{"signature", c.Signature}, {"comment", c.Comment}, {"key", c.IdempotencyKey},
	} {
		if part.text != "" {
			line += fmt.Sprintf(" %s=%q", part.name, part.text)
		}
	}
	if c.Causation != 0 {
		line += fmt.Sprintf(" causation=%d", c.Causation)
	}
	if c.Events != 0 {
		line += fmt.Sprintf(" %d events", c.Events)
	}
	if c.Metadata != nil {
		line += " metadata=" + showMap(c.Metadata)
	}
	return line
}

func showMap(m map[string]any) string {
	text, err := json.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func showSchema(v onto.SchemaVersion) string {
	line := fmt.Sprintf("%s %s v%d since %d %s %s created %s by %q for %q, %q: %q, read as %s", v.Schema.Kind,
		v.Schema.Name, v.Version, v.Since, v.JSON, v.Hash, codec.FormatTime(v.Created), v.Runtime, v.Reason, v.Actor, v.Comment, v.Schema.JSON())
	if v.Upgrader != nil {
		line += fmt.Sprintf(", upgrader %+v", *v.Upgrader)
	}
	if l := v.Learned; l != nil {
		line += fmt.Sprintf(", learnt on %s by %q for %q: %q", codec.FormatTime(l.Time), l.Runtime, l.Actor, l.Comment)
	}
	if v.End != nil {
		line += ", " + showEnd(*v.End)
	}
	return line
}

func showEnd(e onto.End) string {
	line := fmt.Sprintf("ended at %d on %s by %q for %q: %q, renamed to %q, purged %v with %d versions",
		e.Commit, codec.FormatTime(e.Time), e.Runtime, e.Actor, e.Comment, e.RenamedTo, e.Purged, e.Versions)
	if p := e.Purge; p != (onto.Purge{}) {
		line += fmt.Sprintf("; %d of them on %s by %q for %q: %q", p.Versions, codec.FormatTime(p.Time), p.Runtime, p.Actor, p.Comment)
	}
	return line
}

func showLease(l onto.Lease) string {
	return fmt.Sprintf("%s from %s until %s for %q, %q", l, codec.FormatTime(l.Acquired), codec.FormatTime(l.Expires), l.Purpose, l.Note)
}

func showBreak(b onto.LeaseBreak) string {
	return fmt.Sprintf("%s broken on %s by %q for %q because %q", showLease(b.Lease), codec.FormatTime(b.Time), b.Runtime, b.Actor, b.Reason)
}
