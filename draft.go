package onto

import (
	"iter"
	"slices"
)

// Draft is what a commit should make true, and its header. The zero Draft is ready for
// use. A Draft is a value: its methods return a new one and do not change the old one,
// so a common beginning can be shared.
type Draft struct {
	Actor       Actor          // on whose behalf
	Causation   int64          // the commit that led to this one, which must exist; 0 for none
	Correlation string         // groups commits that belong together
	Signature   string         // reference to a signature kept elsewhere
	Comment     string         // why, for people
	Metadata    map[string]any // free; must be JSON

	// IdempotencyKey makes the draft safe to repeat: a repetition returns the first
	// result and writes nothing. The same key with another draft is an
	// IdempotencyConflict.
	IdempotencyKey string

	// Lease, if not nil, must be held when the draft is applied: it fails with
	// LeaseExpired once the lease was taken over.
	Lease *Lease

	// Acks are claims that the draft acknowledges: it fails with LeaseExpired unless all
	// are held. They count also if the draft changes nothing.
	Acks []Claim
	// Advance, if not nil, moves a position, also if the draft changes nothing.
	Advance *Advance

	last   *intents // newest first, shared between drafts, never changed
	emit   *emitted // likewise
	expect *expectation
	given  *expectation
}

// Intent is one thing a draft wants to be true.
type Intent struct {
	Op       Op
	Value    any      // what Put wants: see Ensure; or what Delete removes, unless Identity says it
	Merge    bool     // Put: fields that Value does not give stay as they are, see Merge
	Initial  any      // Merge of an Entity or a Relation: further fields, as in Entity, which it gets only if it does not exist yet
	Identity Identity // what Delete removes, or Revoke ends

	Revoke *Revocation // Put: the fact with this identity ends; nil for everything else
}

// intents is a list that grows at its head.
type intents struct {
	values []Intent
	before *intents
}

type emitted struct {
	things []any
	before *emitted
}

type expectation struct {
	Expectation
	before *expectation
}

// Expectation is a condition that must hold when the draft is applied.
type Expectation struct {
	Head     bool     // the commit is the store's head
	Identity Identity // otherwise: the commit that made this identity's present version
	Commit   int64    // 0 means: empty store, or: the identity does not exist
}

// Entity is an entity whose type is named at run time.
type Entity struct {
	Type   string
	Key    string // may be empty if Fields has the key field, or all that a computed key is made of
	Fields any    // map[string]any, json.RawMessage, or what marshals to a JSON object
}

// Relation is a relation whose type is named at run time.
type Relation struct {
	Type        string
	Left, Right string
	Instance    string
	Fields      any // as in Entity; nil means no fields
}

// Ensure adds things that should look as given: structs of registered types
// and pointers to them, [Entity], [Relation] and [Fact] values, versions, and slices and
// iterators of these. A thing replaces all fields of its identity. A [Version] brings
// back the state that it was read as, also that the identity did not exist. What is
// already so causes no version. The endpoints of a relation need not exist.
func (d Draft) Ensure(things ...any) Draft { return d.put(things, false) }

// Merge adds things whose fields should be as given; fields that are not given stay as
// they are. Things are as in Ensure. An [Entity] or a [Relation] gives the fields that
// it names, and is the usual way to merge:
//
//	d.Merge(onto.Entity{Type: "Customer", Key: "c1", Fields: map[string]any{"tier": "Gold"}})
//
// A field that is null is given, too: it is removed if it is optional, and otherwise
// gets its default. A struct gives all its fields, also those that are zero, but for
// what it leaves out by omitempty, omitzero or a nil pointer.
//
// The fields that stay are those at the moment of the commit, so programs that merge
// different fields at the same time do not undo each other's changes. A missing
// identity is created; that fails with Invalid if a required field is not given. An
// identity that is merged twice in one draft with different fields, or is ensured as
// well, is a Conflict.
func (d Draft) Merge(things ...any) Draft { return d.put(things, true) }

func (d Draft) put(things []any, merge bool) Draft {
	if len(things) == 0 {
		return d
	}
	node := &intents{values: make([]Intent, len(things)), before: d.last}
	for i, t := range things {
		node.values[i] = Intent{Op: Put, Value: t, Merge: merge}
	}
	d.last = node
	return d
}

// Delete adds things that should not exist: identities, structs of registered types
// and versions, of which only the keys count, and slices and iterators of these.
// Deleting what does not exist causes no version. The relations of an entity stay when
// it is deleted: a draft that should end them names them as well.
func (d Draft) Delete(things ...any) Draft {
	if len(things) == 0 {
		return d
	}
	node := &intents{values: make([]Intent, len(things)), before: d.last}
	for i, t := range things {
		if id, ok := t.(Identity); ok {
			node.values[i] = Intent{Op: Delete, Identity: id}
		} else {
			node.values[i] = Intent{Op: Delete, Value: t}
		}
	}
	d.last = node
	return d
}

// Emit adds events that ride in the commit: they exist exactly if it does. An event is
// a struct, whose name is its type unless it is an [EventTyper]; a pointer to one; or an
// [Emission]. Fields become JSON as usual; a string field with the tag onto:"ordering"
// is the ordering key.
//
// If the draft changes nothing no commit is made, and its events do not exist either.
// With Acks they are emitted all the same: the handler has run.
func (d Draft) Emit(things ...any) Draft {
	if len(things) > 0 {
		d.emit = &emitted{slices.Clone(things), d.emit}
	}
	return d
}

// Emitted returns the events in the order they were added.
func (d Draft) Emitted() []any {
	var list []any
	for n := d.emit; n != nil; n = n.before {
		list = append(slices.Clone(n.things), list...)
	}
	return list
}

// ExpectHead makes the draft fail with HeadMismatch unless the head is this
// commit. 0 means an empty store.
func (d Draft) ExpectHead(commit int64) Draft {
	d.expect = &expectation{Expectation{Head: true, Commit: commit}, d.expect}
	return d
}

// ExpectVersion makes the draft fail with VersionMismatch unless the present
// version of the identity was made by this commit. 0 means that the identity
// does not exist.
func (d Draft) ExpectVersion(id Identity, commit int64) Draft {
	d.expect = &expectation{Expectation{Identity: id, Commit: commit}, d.expect}
	return d
}

// Given says that the draft was computed from the present version of the identity, which
// this commit made; 0 means that the identity did not exist. The draft fails with Stale if
// that has changed. Unlike an expectation it is no part of what the draft asks for: a
// repetition with the same idempotency key may be computed from another version.
func (d Draft) Given(id Identity, commit int64) Draft {
	d.given = &expectation{Expectation{Identity: id, Commit: commit}, d.given}
	return d
}

// GivenHead is [Draft.Given] for a draft that was computed from the whole store: it fails
// with Stale unless the head is this commit. 0 means an empty store.
func (d Draft) GivenHead(commit int64) Draft {
	d.given = &expectation{Expectation{Head: true, Commit: commit}, d.given}
	return d
}

// Intents yields the intents in the order they were added.
func (d Draft) Intents() iter.Seq[Intent] {
	return func(yield func(Intent) bool) {
		var nodes []*intents
		for n := d.last; n != nil; n = n.before {
			nodes = append(nodes, n)
		}
		for _, n := range slices.Backward(nodes) {
			for _, in := range n.values {
				if !yield(in) {
					return
				}
			}
		}
	}
}

// Expectations returns the expectations in the order they were added.
func (d Draft) Expectations() []Expectation { return d.expect.list() }

// Fences returns what Given and GivenHead have added, in that order.
func (d Draft) Fences() []Expectation { return d.given.list() }

func (e *expectation) list() []Expectation {
	var list []Expectation
	for ; e != nil; e = e.before {
		list = append(list, e.Expectation)
	}
	slices.Reverse(list)
	return list
}

// Check reports whether everything but the intents is well formed.
func (d Draft) Check() error {
	if err := d.Actor.Check(); err != nil {
		return err
	}
	if d.Causation < 0 {
		return Errorf(Invalid, "causation commit %d is negative", d.Causation)
	}
	if err := d.checkBus(); err != nil {
		return err
	}
	for _, e := range slices.Concat(d.Expectations(), d.Fences()) {
		if e.Commit < 0 {
			return Errorf(Invalid, "expected commit %d is negative", e.Commit)
		}
		if e.Head {
			continue
		}
		if err := e.Identity.Check(); err != nil {
			return err
		}
	}
	for _, text := range []struct {
		what, s string
		most    int
	}{
		{"correlation id", d.Correlation, MaxKey},
		{"signature reference", d.Signature, MaxKey},
		{"idempotency key", d.IdempotencyKey, MaxKey},
		{"comment", d.Comment, MaxComment},
	} {
		if err := checkText(text.what, text.s, 0, text.most); err != nil {
			return err
		}
	}
	return nil
}

// checkBus checks acks and the position.
func (d Draft) checkBus() error {
	seen := make(map[[2]string]bool, len(d.Acks))
	for i := range d.Acks {
		name := [2]string{d.Acks[i].ID, d.Acks[i].Handler}
		if seen[name] {
			return Errorf(Invalid, "the draft acks event %s twice", d.Acks[i].ID)
		}
		seen[name] = true
	}
	if a := d.Advance; a != nil {
		if a.From < 0 || a.To < 0 {
			return Errorf(Invalid, "position %s cannot go from commit %d to %d", a.Name, a.From, a.To)
		}
		return CheckBusName("position", a.Name)
	}
	return nil
}
