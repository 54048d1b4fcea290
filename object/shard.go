package object

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/store"
)

// shard is a store in its place.
type shard struct {
	tenant *tenant
	uri    string

	// Of what follows, another shard is made when the store is opened again.
	store     *store.Store // nil while it is down
	placement placement
	err       error     // why it is down
	retry     time.Time // when to try again

	mu     sync.Mutex
	joined map[string]bool // the types of sets that the store knows
}

// retryAfter is how long a shard that is down is not asked again.
const retryAfter = time.Second

// String names the shard without what may be secret in its URI.
func (s *shard) String() string { return nameOf(s.placement.Name, withoutSecrets(s.uri)) }

func nameOf(name, uri string) string {
	if name == "" {
		return uri
	}
	return fmt.Sprintf("%s (%s)", name, uri)
}

// withoutSecrets is a URI without user, password and parameters.
func withoutSecrets(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		scheme, _, _ := strings.Cut(uri, ":")
		return scheme + "://…"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// open opens the store and reads its placement. It returns another shard, which is down if
// either fails.
func (s *shard) open(ctx context.Context, create bool) *shard {
	opened := &shard{tenant: s.tenant, uri: s.uri, joined: map[string]bool{}}
	b, err := backend.OpenURI(ctx, s.uri, create, s.tenant.vaults.openers...)
	if err == nil {
		if opened.store, err = store.OpenWith(ctx, b, s.tenant.vaults.opts); err != nil {
			err = errors.Join(err, b.Close())
		}
	}
	if err == nil {
		if err = opened.place(ctx); err != nil {
			err = errors.Join(err, opened.store.Close())
		}
	}
	if err == nil {
		return opened
	}
	down := &shard{tenant: s.tenant, uri: s.uri, placement: s.placement, err: err}
	if ctx.Err() == nil { // otherwise it can be asked at once
		down.retry = time.Now().Add(retryAfter)
	}
	return down
}

// notPlaced is the error for a store without a placement.
func (s *shard) notPlaced() error {
	err := s.tenant.wrong("%s is no shard: it holds no placement", s)
	err.Code = onto.Uninitialized
	return s.tenant.toBeMade(err)
}

// place reads the placement, if there is one.
func (s *shard) place(ctx context.Context) error {
	p, placed, err := readPlacement(ctx, s.store)
	if err == nil && placed {
		s.placement = p
	}
	return err
}

// check refuses the store of another tenant, and one that has no placement unless it is being
// made.
func (s *shard) check(create bool) error {
	p := &s.placement
	switch {
	case s.store == nil || p.Name == "" && create:
		return nil
	case p.Name == "":
		return s.notPlaced()
	case p.Vault != s.tenant.vault || p.Tenant != s.tenant.name:
		return s.tenant.wrong("%s is a shard of tenant %s of vault %s", withoutSecrets(s.uri), p.Tenant, p.Vault).WithHint("correct the list of shards")
	}
	return nil
}

// has reports whether the store has a type of a name.
func (s *shard) has(name string) bool {
	_, err := s.store.Type(name)
	return err == nil
}

// join makes the type of a set known to the store. Callers do not wait for each other: what one
// has registered is so for the others.
func (s *shard) join(ctx context.Context, k *kind) error {
	if s.knows(k) {
		return nil
	}
	if err := s.store.Register(ctx, k.typ); err != nil {
		return s.explain(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined[k.name()] = true
	return nil
}

// knows reports whether the store knows the type of a set, as it always does one without a Go type.
func (s *shard) knows(k *kind) bool {
	if k.goType == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joined[k.name()]
}

// explain names the shard in an error that is about its storage, or about its types.
func (s *shard) explain(err error) error {
	var e *onto.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case onto.Unavailable, onto.Corrupt, onto.Full, onto.ReadOnly, onto.LockContention, onto.OutcomeUnknown,
		onto.Closed, onto.Unsupported, onto.Uninitialized, onto.SchemaOutdated, onto.UpgraderMissing, onto.UpgraderFailed:
		named := *e
		named.Message, named.Err = fmt.Sprintf("tenant %s: %s", s.tenant.name, s), err
		if errors.Is(err, backend.ErrReopen) {
			s.tenant.lose(s, err)
		}
		return &named
	}
	return err
}
