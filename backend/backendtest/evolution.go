package backendtest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/typelist"
)

// change is an evolution of a random history. It is plain data: it is resolved against
// the types of the store when the step is taken.
type change struct {
	What  string // the change of the type; begin again if it has ended or never existed
	Type  int    // in changing
	Spoil string // the one reason to fail; "" for none
}

// The changes of a type. Rows are left alone where nothing else is said.
const (
	growType  = "grow"  // another version has one optional field more, or less
	fillType  = "fill"  // another version has one default field more, or less; rows are rewritten
	liftType  = "lift"  // the same, with an upgrader
	markType  = "mark"  // another version has other flags
	learnType = "learn" // the last version gets an upgrader
	dropType  = "drop"  // it ends, and its rows are deleted
	leaveType = "leave" // it ends
	purgeType = "purge" // it ends and is purged
)

// changing returns the types that random histories evolve.
func changing() []onto.Schema { return append(testSchemas(), tagged(tLate)) }

func drawChange(t *rapid.T) change {
	return change{
		What:  oneOf(t, "what", growType, fillType, liftType, growType, markType, learnType, dropType, leaveType, purgeType, fillType, fillType),
		Type:  rapid.IntRange(0, len(changing())-1).Draw(t, "type"),
		Spoil: oneOf(t, "spoil", "", "", "", "", "base", "break", "head", "stamp", "", "", ""),
	}
}

// evolution makes the draft of a step that evolves types.
func (h *history) evolution(s step) sending {
	d := sending{stream: true, draft: s.draft(h)}
	c, all := s.Change, h.schemas()
	e := &backend.Evolution{Base: typelist.Hash(all), Runtime: fmt.Sprint("handle ", s.Handle), Reason: "migration"}
	typ := changing()[c.Type]
	if c.Spoil != "" && c.What == learnType {
		c.What = growType // an upgrader that is known already would be a second reason to fail
	}
	writes := slices.DeleteFunc(d.draft.Writes, func(w backend.Write) bool { return w.Type == typ.Name || !h.current(w) })
	if c.Spoil != "" {
		writes = anyhow(writes)
	}
	d.draft.Writes, d.draft.Evolve = nil, e
	d.writes = append(writes, h.change(e, c.What, typ)...)
	switch c.Spoil {
	case "base":
		e.Base = typelist.Hash(all[1:])
	case "break":
		if !taken(all, typ) { // a second reason to fail
			d.end = errBroken
		}
	case "head":
		d.draft.Expect = []onto.Expectation{headIs(h.head() + 1)}
	case "stamp":
		nobody := put(onto.EntityID("Nobody", "x"), 1)
		d.writes = append(d.writes, nobody)
	}
	return d
}

// taken reports whether a type of another kind has the name.
func taken(all []onto.SchemaVersion, typ onto.Schema) bool {
	return slices.ContainsFunc(typelist.Newest(all), func(v onto.SchemaVersion) bool {
		return v.Schema.Name == typ.Name && v.Schema.Kind != typ.Kind
	})
}

// change adds to an evolution what becomes of a type, and returns the rows that
// go with it.
func (h *history) change(e *backend.Evolution, what string, typ onto.Schema) []backend.Write {
	all := typelist.Last(h.schemas())
	i := slices.IndexFunc(all, func(v onto.SchemaVersion) bool { return v.Schema.TypeName() == typ.TypeName() })
	if i < 0 || all[i].End != nil {
		e.Add = []backend.NewVersion{{Schema: typ}}
		return nil
	}
	last := all[i]
	ended := backend.EndedType{Kind: typ.Kind, Type: typ.Name, Purge: what == purgeType}
	switch what {
	case learnType:
		e.Learn = []backend.TypeUpgrader{{Kind: typ.Kind, Type: typ.Name, Version: last.Version, Upgrader: onto.StoredUpgrader{Program: "."}}}
	case dropType:
		e.End = []backend.EndedType{ended}
		return h.rewritten(typ, func(w *backend.Write) { w.Op, w.Fields, w.SchemaVersion = onto.Delete, nil, last.Version })
	case leaveType, purgeType:
		e.End = []backend.EndedType{ended}
	case growType:
		e.Add = []backend.NewVersion{{Schema: toggled(last.Schema, zipField()), Upgrader: &onto.StoredUpgrader{}}}
	case markType:
		next := toggled(last.Schema, zipField())
		for i, f := range next.Fields {
			next.Fields[i].Index, next.Fields[i].Search = !f.Index, f.Type == onto.String && !f.Search
		}
		e.Add = []backend.NewVersion{{Schema: next}}
	case fillType, liftType:
		next := toggled(last.Schema, levelField())
		e.Add = []backend.NewVersion{{Schema: next}}
		if what == liftType {
			e.Add[0].Upgrader = &onto.StoredUpgrader{Program: ".level = 1"}
		}
		_, has := next.Field("level")
		return h.rewritten(typ, func(w *backend.Write) {
			w.Fields, w.SchemaVersion = leveled(w.Fields, has), last.Version+1
		})
	}
	return nil
}

// toggled returns the schema without the field if it has it, and with it if not. A type
// of facts has it as an attribute.
func toggled(s onto.Schema, f onto.Field) onto.Schema {
	if s.Kind == onto.KindFact {
		f.Optional, f.Default = true, nil
	}
	had := len(s.Fields)
	s.Fields = slices.DeleteFunc(slices.Clone(s.Fields), func(g onto.Field) bool { return g.Name == f.Name })
	if len(s.Fields) == had {
		s.Fields = append(s.Fields, f)
		s.SortFields()
	}
	return s
}

// leveled returns fields with a level or without one.
func leveled(fields []byte, has bool) []byte {
	members, err := codec.ParseObject(fields)
	if err != nil {
		panic(err) // what was written is JSON
	}
	members = slices.DeleteFunc(members, func(m codec.Member) bool { return m.Name == "level" })
	if has {
		i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name > "level" })
		if i < 0 {
			i = len(members)
		}
		members = slices.Insert(members, i, codec.Member{Name: "level", Value: []byte("1")})
	}
	return codec.AppendObject(nil, members)
}

// rewritten returns a write for each row that a type has.
func (h *history) rewritten(typ onto.Schema, edit func(*backend.Write)) []backend.Write {
	var writes []backend.Write
	for v, err := range h.reference.Scan(h.Context(), stateOf(typ.Kind, typ.Name, backend.Head)) {
		if err != nil {
			h.Fatal(err)
		}
		w := backend.Write{Identity: v.Identity, Op: onto.Put, Fields: v.Fields}
		edit(&w)
		writes = append(writes, w)
	}
	return writes
}

// schemas returns all versions of all types.
func (h *history) schemas() []onto.SchemaVersion {
	all, err := h.reference.Schemas(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	return all
}

// version implements [present].
func (h *history) version(id onto.Identity) int {
	return max(1, typelist.NextVersion(h.schemas(), id.TypeName())-1)
}

// current reports whether a write is stamped with the newest version of its type.
func (h *history) current(w backend.Write) bool {
	return slices.ContainsFunc(typelist.Newest(h.schemas()), func(v onto.SchemaVersion) bool {
		return v.Schema.TypeName() == w.TypeName() && v.Version == w.SchemaVersion
	})
}

// comeback returns the types as they are, and as they were first if they have
// ended.
func (h *history) comeback() []onto.Schema {
	types := testSchemas()
	for _, v := range typelist.Newest(h.schemas()) {
		for i, t := range types {
			if t.TypeName() == v.Schema.TypeName() {
				types[i] = v.Schema
			}
		}
	}
	return types
}
