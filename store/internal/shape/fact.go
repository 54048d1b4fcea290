package shape

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/suggest"
)

// checkAttribute refuses an attribute that the type does not have.
func (t *Type) checkAttribute(id onto.Identity) error {
	if _, ok := t.Schema.Attribute(id.Right); ok {
		return nil
	}
	return t.noAttribute(id.String()+": ", id.Right)
}

// CheckAttribute refuses an attribute that the type does not have.
func (t *Type) CheckAttribute(name string) error {
	if _, ok := t.Schema.Attribute(name); ok && onto.CheckName("attribute", name) == nil {
		return nil
	}
	return t.noAttribute("", name)
}

func (t *Type) noAttribute(where, name string) error {
	if onto.ReservedAttribute(name) {
		return onto.Errorf(onto.Invalid, "%sno attribute is called %s: it is a field that facts have anyway", where, name)
	}
	if err := onto.CheckName(where+"attribute", name); err != nil {
		return err
	}
	var names []string
	for _, f := range t.Schema.Attributes() {
		names = append(names, f.Name)
	}
	err := onto.Errorf(onto.Invalid, "%stype %s has no attribute %s", where, t.Schema.Name, name)
	if near := suggest.Name(name, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("its attributes are %s", strings.Join(names, ", "))
}

// WriteFact makes a write of a fact that has its id. Seq is its place among the facts of
// its draft.
func (t *Type) WriteFact(f *onto.Fact, seq int64) (backend.Write, error) {
	id := f.Identity()
	if err := t.CheckIdentity(id); err != nil {
		return backend.Write{}, err
	}
	field, _ := t.Schema.Attribute(f.Attribute)
	text, err := codec.AppendMember(nil, reflect.ValueOf(f.Value))
	if err == nil && codec.KindOf(text) == codec.Null {
		err = onto.Errorf(onto.Invalid, "there is no value").WithHint("to end a fact, revoke or retract it")
	}
	if err == nil {
		text, err = field.FitValue(text)
	}
	if err != nil {
		return backend.Write{}, fieldError(id, onto.Field{Name: f.Attribute}, err)
	}
	if err := checkBounds(id, f.From, f.Until); err != nil {
		return backend.Write{}, err
	}
	members := []codec.Member{{Name: field.Name, Value: text}}
	if f.Kind != "" {
		if err := checkKind(id, f.Kind); err != nil {
			return backend.Write{}, err
		}
		quoted, _ := codec.AppendString(nil, f.Kind) // a checked name
		members = insertMember(members, codec.Member{Name: onto.FactKind, Value: quoted})
	}
	if seq != 0 {
		members = insertMember(members, codec.Member{Name: onto.FactSeq, Value: strconv.AppendInt(nil, seq, 10)})
	}
	if !f.From.IsZero() {
		members = insertMember(members, timeMember(onto.FactFrom, f.From))
	}
	if !f.Until.IsZero() {
		members = insertMember(members, timeMember(onto.FactUntil, f.Until))
	}
	w, err := t.finish(id, codec.AppendObject(nil, members), nil)
	w.Once = true
	return w, err
}

// Revoked makes a write that ends a fact: what its newest version says, until the time
// that the revocation says, with its note.
func (t *Type) Revoked(newest *onto.Version, revocation *backend.Write) (backend.Write, error) {
	f, err := onto.FactOf(newest)
	if err != nil {
		return backend.Write{}, err
	}
	until := codec.Find(revocation.Fields, []string{onto.FactUntil})
	at, err := codec.ParseTime(codec.Unquote(until))
	switch {
	case err != nil:
		return backend.Write{}, err
	case !f.Until.IsZero() && at.After(f.Until):
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s holds until %s, so it cannot be revoked as of %s", newest.Identity, codec.FormatTime(f.Until), codec.FormatTime(at)).
			WithHint("a fact never gets longer: assert another one for the time after")
	case !f.From.IsZero() && !at.After(f.From):
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s holds from %s on, so it cannot be revoked as of %s", newest.Identity, codec.FormatTime(f.From), codec.FormatTime(at)).
			WithHint("if it never held, retract it")
	}
	members := Asserted(codec.Members(newest.Fields), f.Asserted)
	for _, m := range codec.Members(revocation.Fields) {
		members = insertMember(members, m)
	}
	return t.finish(newest.Identity, codec.AppendObject(nil, members), nil)
}

// Revoke is the op of a write that stands for a revocation: it says when and why, and
// not yet what the fact is like then.
const Revoke onto.Op = "revoke"

// Revocation makes a write that stands for a revocation.
func (t *Type) Revocation(id onto.Identity, r *onto.Revocation) (backend.Write, error) {
	if err := t.CheckIdentity(id); err != nil {
		return backend.Write{}, err
	}
	if r.At.IsZero() {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s: a revocation needs the time until which the fact held", id).
			WithHint("give the time; if it never held, retract it")
	}
	if err := codec.CheckTime(r.At); err != nil {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s: the time of the revocation: %w", id, err)
	}
	note, err := noteOf(r)
	if err != nil {
		return backend.Write{}, onto.Errorf(onto.Invalid, "%s: the note: %w", id, err)
	}
	members := []codec.Member{{Name: onto.FactRevoked, Value: note}, timeMember(onto.FactUntil, r.At)}
	return backend.Write{Identity: id, Op: Revoke, Fields: codec.AppendObject(nil, members), SchemaVersion: t.Version}, nil
}

// Asserted is the members of a fact with the commit that asserted it, which every
// version but the first has.
func Asserted(members []codec.Member, commit int64) []codec.Member {
	return insertMember(members, codec.Member{Name: onto.FactAsserted, Value: strconv.AppendInt(nil, commit, 10)})
}

// noteOf is the note of a revocation as JSON: true if there is none.
func noteOf(r *onto.Revocation) ([]byte, error) {
	if r.Note == nil {
		return []byte("true"), nil
	}
	note, err := codec.AppendMember(nil, reflect.ValueOf(r.Note))
	if err == nil && codec.KindOf(note) == codec.Null {
		note = []byte("true")
	}
	return note, err
}

func checkBounds(id onto.Identity, from, until time.Time) error {
	for _, at := range []time.Time{from, until} {
		if at.IsZero() {
			continue
		}
		if err := codec.CheckTime(at); err != nil {
			return onto.Errorf(onto.Invalid, "%s: %w", id, err)
		}
	}
	if !from.IsZero() && !until.IsZero() && !until.Truncate(time.Microsecond).After(from.Truncate(time.Microsecond)) {
		return onto.Errorf(onto.Invalid, "%s: it would hold from %s until %s, which is no time at all", id, codec.FormatTime(from), codec.FormatTime(until)).
			WithHint("the end must be after the start, and is not part of the time")
	}
	return nil
}

func checkKind(id onto.Identity, kind string) error {
	if kind == "assert" || kind == "retract" || kind == "revoke" {
		return onto.Errorf(onto.Invalid, "%s: the kind %q has a meaning of its own", id, kind).
			WithHint("leave it out, or use Retract and Revoke")
	}
	if err := onto.CheckBusName("fact kind", kind); err != nil {
		return onto.Errorf(onto.Invalid, "%s: %w", id, err)
	}
	return nil
}

func timeMember(name string, at time.Time) codec.Member {
	return codec.Member{Name: name, Value: []byte(`"` + codec.FormatTime(at) + `"`)}
}
