package source_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// answers is what a store says about its log, in a form that people can read and compare.
// A question that fails is answered with "! " and the code of the error.
type answers struct {
	Head    int64               `json:"head"`
	Failed  string              `json:"failed,omitempty"` // the answer to what the commits are, if there is none
	Commits []commitAnswer      `json:"commits"`
	Types   []typeAnswer        `json:"types"`
	Folds   []string            `json:"folds,omitempty"`
	Times   []string            `json:"times"`   // for the time of each commit, and just before it, the commit of then
	Stored  []moment            `json:"stored"`  // as it was written
	Present []moment            `json:"present"` // as the present types have it
	History map[string][]string `json:"history"` // by type: every version, as it was written
	Blame   map[string][]string `json:"blame"`   // of the first identities of each type
	Diffs   []answer            `json:"diffs"`
	Answers []answer            `json:"answers"`
}

// commitAnswer is the header of a commit.
type commitAnswer struct {
	ID             int64          `json:"id"`
	Time           time.Time      `json:"time"`
	Runtime        string         `json:"runtime,omitempty"`
	Actor          string         `json:"actor,omitempty"`
	Causation      int64          `json:"causation,omitempty"`
	Correlation    string         `json:"correlation,omitempty"`
	Signature      string         `json:"signature,omitempty"`
	Comment        string         `json:"comment,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	Operations     int            `json:"operations"`
	IdempotencyKey string         `json:"idempotency_key,omitempty"`
}

// typeAnswer is a version of a type, without the text of its schema.
type typeAnswer struct {
	Schema   json.RawMessage      `json:"schema"` // canonical
	Version  int                  `json:"version"`
	Since    int64                `json:"since"`
	Created  time.Time            `json:"created"`
	Runtime  string               `json:"runtime,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Upgrader *onto.StoredUpgrader `json:"upgrader,omitempty"`
	End      *onto.End            `json:"end,omitempty"`
}

// moment is what the types hold as of a commit: for each, what is there that was not at
// the moment before ("+ "), and what is not there any more ("- ").
type moment struct {
	Commit  int64               `json:"commit"`
	Changes map[string][]string `json:"changes,omitempty"`
}

// answer is a question and its answer.
type answer struct {
	Ask string   `json:"ask"`
	Got []string `json:"got"`
}

// most is up to how many commits each is a moment; of more, every tenth is.
const most = 50

// asker asks a store everything.
type asker struct {
	t       testing.TB
	ctx     context.Context
	s       *store.Store
	commits []int64
	got     *answers
}

// ask asks a store about all of its log, and what the file of that name is about.
func ask(t testing.TB, s *store.Store, name string) *answers {
	t.Helper()
	a := &asker{t: t, ctx: t.Context(), s: s, got: &answers{History: map[string][]string{}, Blame: map[string][]string{}}}
	a.log()
	a.types()
	a.times()
	moments := a.moments()
	a.got.Stored = a.states(moments, store.View.AsStored)
	a.got.Present = a.states(moments, func(v store.View) store.View { return v })
	a.histories()
	for i, c := range moments {
		from := int64(0)
		if i > 0 {
			from = moments[i-1]
		}
		a.diff(from, c)
	}
	for _, c := range a.few() {
		a.generated(c)
	}
	a.facts()
	for _, q := range questionsOf(name) {
		a.chosen(&q)
	}
	return a.got
}

// failed is the answer to a question that fails.
func failed(err error) string { return "! " + string(onto.CodeOf(err)) }

// collect is a sequence as text.
func collect[T any](seq iter.Seq2[T, error], text func(T) string) []string {
	list := []string{}
	for v, err := range seq {
		if err != nil {
			return append(list, failed(err))
		}
		list = append(list, text(v))
	}
	return list
}

// one is an answer as text.
func one[T any](v T, err error) []string {
	if err != nil {
		return []string{failed(err)}
	}
	return []string{fmt.Sprint(v)}
}

func (a *asker) log() {
	head, err := a.s.Head(a.ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	a.got.Head = head.ID
	for c, err := range a.s.Commits(a.ctx, store.CommitOptions{}) {
		if err != nil {
			a.got.Failed = failed(err)
			break
		}
		a.commits = append(a.commits, c.ID)
		a.got.Commits = append(a.got.Commits, commitAnswer{c.ID, c.Time, c.Runtime, c.Actor.String(), c.Causation, c.Correlation, c.Signature, c.Comment, c.Metadata, c.Operations, c.IdempotencyKey})
	}
	slices.Sort(a.commits)
	slices.SortFunc(a.got.Commits, func(x, y commitAnswer) int { return int(x.ID - y.ID) })
}

func (a *asker) types() {
	all, err := a.s.Schemas(a.ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, v := range all {
		a.got.Types = append(a.got.Types, typeAnswer{json.RawMessage(v.Schema.JSON()), v.Version, v.Since, v.Created, v.Runtime, v.Reason, v.Upgrader, v.End})
	}
	folds, err := a.s.Folds(a.ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, f := range folds {
		a.got.Folds = append(a.got.Folds, fmt.Sprintf("%s %d: %s to %s by %q, behind %d", f.Name, f.Version, f.Facts, f.State, f.Program, f.Behind))
	}
}

func (a *asker) times() {
	for _, c := range a.got.Commits {
		for _, at := range []time.Time{c.Time, c.Time.Add(-time.Microsecond)} {
			found, err := a.s.AsOf(at).Commit(a.ctx)
			a.got.Times = append(a.got.Times, fmt.Sprintf("%s: %s", at.Format(time.RFC3339Nano), strings.Join(one(found.ID, err), "")))
		}
	}
}

// moments are the commits as of which everything is asked.
func (a *asker) moments() []int64 {
	if len(a.commits) <= most {
		return a.commits
	}
	var list []int64
	for i, c := range a.commits {
		if i%10 == 9 || i == len(a.commits)-1 {
			list = append(list, c)
		}
	}
	return list
}

// few are the first commit, one in the middle, and the newest.
func (a *asker) few() []int64 {
	if len(a.commits) == 0 {
		return nil
	}
	return slices.Compact([]int64{a.commits[0], a.commits[len(a.commits)/2], a.commits[len(a.commits)-1]})
}

// states is what all types hold at moments.
func (a *asker) states(moments []int64, as func(store.View) store.View) []moment {
	var list []moment
	before := map[string][]string{}
	for _, c := range moments {
		now, v := map[string][]string{}, as(a.s.At(c))
		types, err := v.Types(a.ctx)
		if err != nil {
			now["types"] = []string{failed(err)}
		}
		for _, t := range types {
			now[t.TypeName().String()] = a.ordered(v.FindKind(t.Kind, t.Name).All(a.ctx))
		}
		list = append(list, moment{c, changes(before, now)})
		before = now
	}
	return list
}

// changes is what leads from one state to the next.
func changes(before, now map[string][]string) map[string][]string {
	all := map[string][]string{}
	for name := range before {
		for _, line := range before[name] {
			if !slices.Contains(now[name], line) {
				all[name] = append(all[name], "- "+line)
			}
		}
	}
	for name := range now {
		for _, line := range now[name] {
			if !slices.Contains(before[name], line) {
				all[name] = append(all[name], "+ "+line)
			}
		}
	}
	return all
}

// ordered is versions as text, which must come in order of identity.
func (a *asker) ordered(seq iter.Seq2[onto.Version, error]) []string {
	var last *onto.Identity
	return collect(seq, func(v onto.Version) string {
		if last != nil && last.Compare(v.Identity) >= 0 {
			a.t.Errorf("%s comes after %s", v.Identity, last)
		}
		last = &v.Identity
		return full(v)
	})
}

// full is a version as text.
func full(v onto.Version) string {
	if !v.Live() {
		return fmt.Sprintf("%s @%d v%d deleted", short(v), v.Commit, v.SchemaVersion)
	}
	return fmt.Sprintf("%s @%d v%d %s", short(v), v.Commit, v.SchemaVersion, v.Fields)
}

// short is an identity without its type.
func short(v onto.Version) string {
	switch {
	case v.Kind == onto.KindEntity:
		return v.Key
	case v.Instance == "":
		return v.Left + "→" + v.Right
	}
	return v.Left + "→" + v.Right + "#" + v.Instance
}

// histories asks for every version of every type by the names that it has had, and who set
// the fields of some.
func (a *asker) histories() {
	v := a.s.Now().AsStored()
	for _, t := range v.EveryType() {
		name := t.TypeName().String()
		var ids []onto.Identity
		a.got.History[name] = collect(v.FindKind(t.Kind, t.Name).Versions(a.ctx, 0), func(e store.Versioned[onto.Version]) string {
			if !slices.Contains(ids, e.Version.Identity) {
				ids = append(ids, e.Version.Identity)
			}
			return full(e.Version)
		})
		for _, id := range ids[:min(len(ids), 3)] {
			blame, err := a.s.Now().Blame(a.ctx, id)
			var list []string
			for _, b := range blame {
				list = append(list, fmt.Sprintf("%s=%s by %d", b.Field, b.Value, b.Commit.ID))
			}
			if err != nil {
				list = []string{failed(err)}
			}
			a.got.Blame[id.String()] = list
		}
	}
}

// diff asks for the differences between two moments.
func (a *asker) diff(from, to int64) {
	seq := a.s.Diff(a.ctx, store.DiffOptions{From: onto.AtCommit(from), To: onto.AtCommit(to)})
	a.got.Diffs = append(a.got.Diffs, answer{fmt.Sprintf("from %d to %d", from, to), collect(seq, func(c onto.Change) string {
		side := func(v *onto.Version) string {
			if v == nil || !v.Live() {
				return "none"
			}
			return fmt.Sprintf("@%d", v.Commit)
		}
		return fmt.Sprintf("%s %s %s %s", c.Operation(), c.Identity, side(c.Before), side(c.After))
	})})
}
