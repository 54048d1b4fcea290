package object

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/parallel"
	"github.com/ontologia/onto/store"
)

// Vaults are the tenants of some vaults, each with its shards. They may be used concurrently.
type Vaults struct {
	config  Config
	openers []backend.Opener
	opts    *store.Options // of every store; nil for none

	mu      sync.Mutex
	tenants map[[2]string]*tenant       // by vault and name
	sets    map[string]map[string]*kind // that are ready, by vault and type
	closed  bool

	life context.Context // ends with Close
	end  context.CancelFunc
}

// Open returns the vaults of a configuration, whose URIs the openers understand. It opens no
// storage: a tenant is opened when it is used first.
func Open(ctx context.Context, config Config, openers ...backend.Opener) (*Vaults, error) {
	return OpenWith(ctx, config, nil, openers...)
}

// OpenWith is Open with options for the stores.
func OpenWith(ctx context.Context, config Config, opts *store.Options, openers ...backend.Opener) (*Vaults, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	for _, vault := range sortedKeys(config) {
		for _, tenant := range sortedKeys(config[vault]) {
			if err := checkURIs(vault, tenant, config[vault][tenant], openers); err != nil {
				return nil, err
			}
		}
	}
	v := &Vaults{config: config, openers: openers, opts: opts, tenants: map[[2]string]*tenant{}, sets: map[string]map[string]*kind{}}
	v.life, v.end = context.WithCancel(context.WithoutCancel(ctx))
	return v, ctx.Err()
}

// checkURIs refuses a shard that no opener understands, and one that is listed twice.
func checkURIs(vault, tenant string, uris []string, openers []backend.Opener) error {
	seen := map[string]bool{}
	for i, uri := range uris {
		place, err := backend.IdentityOfURI(uri, openers...)
		if err != nil {
			return onto.Errorf(onto.CodeOf(err), "shard %d of tenant %s of vault %s: %w", i+1, tenant, vault, err)
		}
		if seen[place] {
			return onto.Errorf(onto.Invalid, "tenant %s of vault %s lists the shard %s twice", tenant, vault, withoutSecrets(uri))
		}
		seen[place] = true
	}
	return nil
}

// Close closes all stores. Operations after it fail with Closed.
func (v *Vaults) Close() error {
	v.mu.Lock()
	v.closed = true
	tenants := v.tenants
	v.tenants = nil
	v.mu.Unlock()
	v.end()
	var errs []error
	for _, t := range tenants {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// Tenants returns the names of the tenants of a vault, sorted.
func (v *Vaults) Tenants(vault string) ([]string, error) {
	tenants, ok := v.config[vault]
	if !ok {
		_, err := v.config.tenant(vault, "")
		return nil, err
	}
	return sortedKeys(tenants), nil
}

// Names returns the names of the vaults, sorted.
func (v *Vaults) Names() []string { return sortedKeys(v.config) }

// tenant returns a tenant, which need not be open yet.
func (v *Vaults) tenant(vault, name string) (*tenant, error) {
	uris, err := v.config.tenant(vault, name)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, onto.Errorf(onto.Closed, "the vaults are closed")
	}
	at := [2]string{vault, name}
	t := v.tenants[at]
	if t == nil {
		t = &tenant{vaults: v, vault: vault, name: name, opening: make(chan struct{}, 1)}
		for _, uri := range uris {
			t.shards = append(t.shards, &shard{tenant: t, uri: uri})
		}
		v.tenants[at] = t
	}
	return t, nil
}

// tenant is a tenant of a vault and its shards.
type tenant struct {
	vaults      *Vaults
	vault, name string

	layout atomic.Pointer[layout] // nil before it is open

	opening chan struct{} // has a token while shards are opened; guards what follows
	shards  []*shard      // in the order of the configuration
	closed  bool
}

// lock waits until no other caller opens shards.
func (t *tenant) lock(ctx context.Context) error {
	select {
	case t.opening <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *tenant) unlock() { <-t.opening }

// wrong is an error about the shards that the configuration lists.
func (t *tenant) wrong(format string, args ...any) *onto.Error {
	return onto.Errorf(onto.Conflict, "tenant "+t.name+" of vault "+t.vault+": "+format, args...)
}

// isDown is the error for shards that are down.
func (t *tenant) isDown(down []*shard) error {
	names, errs := make([]string, len(down)), make([]error, len(down))
	code := onto.CodeOf(down[0].err)
	for i, s := range down {
		names[i], errs[i] = s.String(), s.err
		if onto.CodeOf(s.err) != code {
			code = onto.Unavailable
		}
	}
	if code == "" {
		code = onto.Unavailable
	}
	err := onto.Errorf(code, "tenant %s of vault %s: not open: %s: %w", t.name, t.vault, strings.Join(names, ", "), errors.Join(errs...))
	if code == onto.Uninitialized {
		return t.toBeMade(err)
	}
	return err
}

// toBeMade adds to an error how the tenant is made.
func (t *tenant) toBeMade(err *onto.Error) *onto.Error {
	return err.WithHint("make the tenant, in Go with Vaults.Init").WithCommand("init", "--vault", t.vault, "--tenant", t.name)
}

// opened returns the layout of the tenant, after it has opened what can be opened.
func (t *tenant) opened(ctx context.Context) (*layout, error) {
	if l := t.layout.Load(); l != nil {
		return l, nil
	}
	return t.open(ctx, nil)
}

// all is opened, and tries shards that are down again if it is time.
func (t *tenant) all(ctx context.Context) (*layout, error) {
	l, err := t.opened(ctx)
	if err == nil && due(l.down) {
		l, err = t.open(ctx, l)
	}
	return l, err
}

// of returns the shards that own the buckets of some shard keys; all for none. Those that are
// down are opened again if they are needed and it is time.
func (t *tenant) of(ctx context.Context, keys []string) ([]*shard, error) {
	l, err := t.opened(ctx)
	if err != nil {
		return nil, err
	}
	list, up := l.of(keys)
	if !up && due(l.down) {
		if l, err = t.open(ctx, l); err != nil {
			return nil, err
		}
		list, up = l.of(keys)
	}
	if !up {
		return nil, t.isDown(l.down)
	}
	return list, nil
}

// owner returns the shard that owns the bucket of a shard key; nil if it is not open.
func (t *tenant) owner(key string) *shard {
	if l := t.layout.Load(); l != nil {
		return l.owner[bucketOf(key)]
	}
	return nil
}

// open opens the shards that are not open and returns the new layout. If another caller has
// done so since the layout that is given, that is the one.
func (t *tenant) open(ctx context.Context, since *layout) (*layout, error) {
	if err := t.lock(ctx); err != nil {
		return nil, err
	}
	defer t.unlock()
	if t.closed {
		return nil, onto.Errorf(onto.Closed, "the vaults are closed")
	}
	if l := t.layout.Load(); l != since {
		return l, nil
	}
	shards, err := t.openAll(ctx, false)
	if err != nil {
		return nil, err
	}
	l, err := t.settle(shards)
	if err == nil && len(l.down) > 0 {
		err = ctx.Err() // for which others are not down: they are asked again by whoever needs them
	}
	return l, err
}

// settle makes shards those of the tenant, unless they do not fit together. Then those that are
// new are closed.
func (t *tenant) settle(shards []*shard) (*layout, error) {
	l, err := newLayout(t, shards)
	if err != nil {
		t.discard(shards)
		return nil, err
	}
	t.shards = shards
	t.layout.Store(l)
	return l, nil
}

// due reports whether it is time to open a shard again.
func due(down []*shard) bool {
	now := time.Now()
	return slices.ContainsFunc(down, func(s *shard) bool { return !now.Before(s.retry) })
}

// openAll opens the shards that are not open, side by side, and returns all. A store that is
// no shard of the tenant is an error, and nothing stays open then. With create, stores are made
// and need no placement.
func (t *tenant) openAll(ctx context.Context, create bool) ([]*shard, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.vaults.life, cancel)()
	shards := slices.Clone(t.shards)
	err := parallel.Do(len(shards), len(shards), func(i int) error {
		if shards[i].store != nil {
			return nil
		}
		shards[i] = shards[i].open(ctx, create)
		return shards[i].check(create)
	})
	if err != nil {
		t.discard(shards)
		return nil, err
	}
	return shards, nil
}

// discard closes those shards that are not the tenant's.
func (t *tenant) discard(shards []*shard) {
	for i, s := range shards {
		if s.store != nil && s != t.shards[i] {
			s.store.Close()
		}
	}
}

// lose notes that a shard has to be opened again. While shards are being opened it does nothing:
// the next error does.
func (t *tenant) lose(lost *shard, err error) {
	select {
	case t.opening <- struct{}{}:
	default:
		return
	}
	defer t.unlock()
	i := slices.Index(t.shards, lost)
	if i < 0 {
		return
	}
	shards := slices.Clone(t.shards)
	shards[i] = &shard{tenant: t, uri: lost.uri, placement: lost.placement, err: err}
	if _, err := t.settle(shards); err == nil {
		lost.store.Close()
	}
}

func (t *tenant) close() error {
	_ = t.lock(context.Background()) // soon, since opening has ended with the life of the vaults
	defer t.unlock()
	t.closed = true
	t.layout.Store(nil)
	var errs []error
	for i, s := range t.shards {
		if s.store != nil {
			errs = append(errs, s.store.Close())
			t.shards[i] = &shard{tenant: t, uri: s.uri}
		}
	}
	return errors.Join(errs...)
}
