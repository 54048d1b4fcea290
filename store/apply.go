package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/spool"
	"github.com/ontologia/onto/internal/typelist"
	"github.com/ontologia/onto/store/internal/catalog"
	"github.com/ontologia/onto/store/internal/factstream"
	"github.com/ontologia/onto/store/internal/foldkeep"
)

// DefaultMigrationWait is how long a migration waits for other writers to stop. How long
// these wait for the migration is an option of the backend.
const DefaultMigrationWait = 10 * time.Second

// ApplyOptions say how a plan is applied. It needs a token or Force.
type ApplyOptions struct {
	Token string // of the plan that was reviewed: fails with MigrationToken if the plan or the head has changed
	Force bool   // apply whatever the plan is by then

	// NewerHead accepts a head that is newer than that of the token: types change in the way
	// that was reviewed, and only how much there is of them may be another by now. Where
	// programs write all the time, no token would be good otherwise.
	NewerHead bool

	Draft onto.Draft // header of the commit; it has no intents

	Runtime        string        // as in Options
	UpgradeTimeout time.Duration // as in Options
	Wait           time.Duration // how long to wait for other writers to stop; 0 for DefaultMigrationWait
	LeaseTTL       time.Duration // of the lease that stops them; 0 for DefaultLeaseTTL

	// Progress, if not nil, is called now and then with the number of things done.
	Progress func(done, total int64)
}

// Migrate applies a migration to the store that a backend keeps: all types or
// none, in one commit. Until it is done, readers see the old state, and no other program
// can write. The backend stays open, and can be given to [Open] afterwards.
//
// Stores that were opened with the old types continue if the change is compatible, see
// onto.Compatible, and no upgrader goes with it: new fields are optional or have a
// default, required fields become optional, types become wider. They read the fields
// that they know, and what they write keeps the others; a program with the old types
// can open the store again. A read fails if it meets a value of a wider type that a Go
// field cannot hold. After any other change, typed reads and writes of such stores fail
// with SchemaOutdated, which says how their types differ from the stored ones, until the
// store is opened with the present types; reads by the name of a type use its present
// version.
//
// New required fields of Go structs that could join (see [Open]) begin as zero values, unless
// an upgrader is given for the step; schemas without a struct need a default or an upgrader.
//
// A program may migrate whenever it starts: if an earlier version of a type is given
// than is stored, and programs with the earlier one can go on, the type stays as it is.
//
// If no thing has to be written anew, no commit is made, and the result's ID is
// 0.
func Migrate(ctx context.Context, b backend.Backend, m *Migration, o *ApplyOptions) (onto.Result, *MigrationPlan, error) {
	s, err := peek(ctx, b, m.Upgraders, o)
	if err != nil {
		return onto.Result{}, nil, err
	}
	var plan *migrationPlan
	res, err := apply(ctx, s, o, func(ctx context.Context) (*evolving, error) {
		var err error
		if plan, err = planMigration(ctx, s, m); err != nil {
			return nil, err
		}
		if missing := plan.Missing(); len(missing) > 0 {
			return nil, onto.Errorf(onto.UpgraderMissing, "upgraders are missing: %s", strings.Join(missing, "; ")).
				WithHint("give one for each step, in Migration.Upgraders or with --upgraders")
		}
		return plan.evolving(), nil
	})
	if plan == nil || err != nil {
		return onto.Result{}, nil, err
	}
	return res, &plan.MigrationPlan, nil
}

// evolving is the plan ready to be applied.
func (p *migrationPlan) evolving() *evolving {
	e := &evolving{head: p.Head, token: p.Token, writes: p.writes, comment: p.comment()}
	if !p.Empty() {
		e.change = p.evolution()
	}
	for _, t := range p.Types {
		if t.Rewrite {
			e.total += t.Live
		}
	}
	return e
}

// comment says what the migration does.
func (p *migrationPlan) comment() string {
	var list []string
	for _, t := range p.Types {
		if t.Rewrite {
			list = append(list, t.Steps[len(t.Steps)-1].Name)
		}
	}
	return "migrate " + strings.Join(list, ", ")
}

// TryMigration runs the upgraders of a migration over all live things and discards the results,
// to find failures without changing anything. It returns how many things it tried.
func TryMigration(ctx context.Context, b backend.Backend, m *Migration, o *ApplyOptions) (int64, error) {
	s, err := peek(ctx, b, m.Upgraders, o)
	if err != nil {
		return 0, err
	}
	plan, err := planMigration(ctx, s, m)
	if err != nil {
		return 0, err
	}
	var total, done int64
	for _, t := range plan.Types {
		if t.Rewrite {
			total += t.Live
		}
	}
	for _, err := range plan.writes(ctx, counter(o, &done, total, nil)) {
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// counter counts things and reports progress, also in a note if there is to be one.
func counter(o *ApplyOptions, done *int64, total int64, note func(text string)) func() {
	return func() {
		if *done++; *done%1000 != 0 {
			return
		}
		if o != nil && o.Progress != nil {
			o.Progress(*done, max(*done, total))
		}
		if note != nil {
			note(progressNote(*done, total))
		}
	}
}

// progressNote is the note of a lease under which so many of so many things are done.
func progressNote(done, total int64) string {
	total = max(done, total, 1)
	return fmt.Sprintf("%d%% of %s", int64(100*float64(done)/float64(total)), grouped(total))
}

// grouped is a number with commas between its groups of digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// peek opens a backend without owning it, for changes of its types.
func peek(ctx context.Context, b backend.Backend, given []Upgrader, o *ApplyOptions) (*Store, error) {
	s := newStore(b, nil)
	if o != nil {
		s = newStore(b, &Options{Runtime: o.Runtime, UpgradeTimeout: o.UpgradeTimeout})
	}
	if err := s.opts.check(); err != nil {
		return nil, err
	}
	if _, err := newUpgraders(given); err != nil {
		return nil, err
	}
	stored, err := b.Schemas(ctx)
	if err != nil {
		return nil, err
	}
	s.types.Store(catalog.New(stored, upgraders(nil).function))
	return s, nil
}

// evolving is a plan ready to be applied.
type evolving struct {
	head    int64
	token   string
	change  *backend.Evolution // nil if there is nothing to do
	total   int64              // how many things are written anew
	comment string             // of the commit, unless the draft has one
	writes  func(ctx context.Context, step func()) iter.Seq2[backend.Write, error]
}

// check refuses options that contradict each other, or say nothing about which plan is
// meant.
func (o *ApplyOptions) check() error {
	switch {
	case o == nil || o.Token == "" && !o.Force:
		return onto.Errorf(onto.Invalid, "there is no token").
			WithHint("plan it first, look at the plan, and give its token")
	case o.Force && o.Token != "":
		return onto.Errorf(onto.Invalid, "a token and force contradict each other").WithHint("give one of them")
	case o.Force && o.NewerHead:
		return onto.Errorf(onto.Invalid, "a newer head is accepted for a token, and there is none").WithHint("give the token of the plan")
	}
	if _, _, err := parseToken(o.Token); err != nil && !o.Force {
		return err
	}
	for range o.Draft.Intents() {
		return onto.Errorf(onto.Invalid, "the draft of a migration has no intents of its own")
	}
	return nil
}

// apply makes a plan under the lease that excludes other writers, and then applies it.
func apply(ctx context.Context, s *Store, o *ApplyOptions, plan func(context.Context) (*evolving, error)) (onto.Result, error) {
	if err := o.check(); err != nil {
		return onto.Result{}, err
	}
	draft, err := s.header(ctx, o.Draft)
	if err != nil {
		return onto.Result{}, err
	}
	wait := o.Wait
	if wait <= 0 {
		wait = DefaultMigrationWait
	}
	lease, err := s.Lease(ctx, onto.WriteLease, &LeaseOptions{Wait: wait, TTL: o.LeaseTTL, Note: "planning", purpose: onto.MigrationLease})
	if err != nil {
		return onto.Result{}, err
	}
	defer func() { // also when the caller has given up: other writers wait for it
		_ = lease.Release(context.WithoutCancel(ctx))
	}()
	var e *evolving
	err = keeping(ctx, lease, func(ctx context.Context) error {
		e, err = plan(ctx)
		return err
	})
	if err != nil {
		return onto.Result{}, err
	}
	if err := checkToken(o, e); err != nil {
		return onto.Result{}, err
	}
	if e.change == nil {
		return onto.Result{}, nil
	}
	e.change.Actor, e.change.Comment = draft.Actor, draft.Comment
	if draft.Comment == "" {
		draft.Comment = e.comment
	}
	draft.Evolve = e.change
	draft.Expect = append(draft.Expect, onto.Expectation{Head: true, Commit: e.head})
	var done int64
	var writes *spool.Spool
	has := &factstream.Facts{}
	err = keeping(ctx, lease, func(ctx context.Context) error {
		lease.held.SetNote(progressNote(0, e.total))
		step := counter(o, &done, e.total, lease.held.SetNote)
		writes, err = spool.Fill(ctx, draft, has.Noted(e.writes(ctx, step)), spool.Options{Directory: s.opts.ScratchDir})
		if err == nil && done > 0 { // the transaction that follows cannot tell how far it is
			err = lease.SetNote(ctx, "writing "+grouped(done))
		}
		return err
	})
	if err != nil {
		return onto.Result{}, err
	}
	defer writes.Close()
	held := lease.Current()
	draft.Lease = &held
	res, err := s.folds.AppendStream(ctx, foldkeep.Stream{Spool: writes, Facts: has.Types}, draft)
	if onto.CodeOf(err) == onto.HeadMismatch {
		err = staleToken(o.Token, e)
	}
	if err == nil {
		s.seen(res.ID)
	}
	return res, err
}

// keeping runs f while the lease is renewed, and ends it if the lease is lost.
func keeping(ctx context.Context, lease *Lease, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := lease.held.Keeping(ctx, cancel)
	err := f(ctx)
	if lost := stop(); lost != nil {
		return errors.Join(lost, err)
	}
	return err
}

// token is base64url of the hash of what a plan does, and the head it is for.
func token(hash string, head int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(hash + ":" + strconv.FormatInt(head, 10)))
}

// parseToken takes a token apart. It may be any text.
func parseToken(text string) (hash string, head int64, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(text), "="))
	hash, number, ok := strings.Cut(string(raw), ":")
	if err == nil {
		head, err = strconv.ParseInt(number, 10, 64)
	}
	if sum, hexErr := hex.DecodeString(hash); err != nil || !ok || hexErr != nil || len(sum) != sha256.Size || head < 0 {
		return "", 0, onto.Errorf(onto.Invalid, "%.80q is not a token", text).WithHint("take it unchanged from the plan")
	}
	return hash, head, nil
}

// checkToken fails if the token is not that of the plan.
func checkToken(o *ApplyOptions, e *evolving) error {
	if o.Force || strings.TrimRight(strings.TrimSpace(o.Token), "=") == e.token {
		return nil
	}
	hash, head, err := parseToken(o.Token)
	if now, _, _ := parseToken(e.token); err == nil && o.NewerHead && hash == now && head <= e.head {
		return nil
	}
	return staleToken(o.Token, e)
}

// staleToken says how the token differs from the plan.
func staleToken(text string, e *evolving) error {
	hash, head, err := parseToken(text)
	now, _, _ := parseToken(e.token)
	if err == nil && hash == now && head < e.head {
		return onto.Errorf(onto.MigrationToken, "the token is for head %d, and the head is %d now", head, e.head).
			WithHint("plan it again, look at the plan, and give its token; or accept that there may be more or less to do by now: --newer-head")
	}
	return onto.Errorf(onto.MigrationToken, "the plan is another than the one this token is for").
		WithHint("plan it again, look at the plan, and give its token")
}

// hashOf is the hash of a document that identifies a plan.
func hashOf(doc any) string {
	text, err := json.Marshal(doc)
	if err != nil {
		panic("store: a plan is not JSON: " + err.Error()) // plans hold texts and numbers only
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// token identifies what the migration does at its head.
func (p *migrationPlan) token() string {
	type typeDoc struct {
		Kind     onto.Kind           `json:"kind"`
		Name     string              `json:"name"`
		From     int                 `json:"from"`
		To       int                 `json:"to"`
		Hash     string              `json:"hash"`
		Upgrader onto.StoredUpgrader `json:"upgrader"`
	}
	doc := struct {
		Base  string                 `json:"base"`
		Types []typeDoc              `json:"types"`
		Learn []backend.TypeUpgrader `json:"learn"`
	}{Base: typelist.Hash(p.stored), Learn: p.learn}
	for _, t := range p.Types {
		d := typeDoc{Kind: t.Kind, Name: t.Name, From: t.From, To: t.To, Upgrader: t.upgrader}
		if t.changed != nil {
			d.Hash = t.changed.Hash()
		}
		doc.Types = append(doc.Types, d)
	}
	return token(hashOf(doc), p.Head)
}
