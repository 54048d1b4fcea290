package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

func objectBenchmarks() []benchmark {
	return []benchmark{{"B42", "objects of tenants on several shards", "sqlite", objects}}
}

// objects is B42. Subject and control use the same stores: the shards of a tenant.
func objects(e *env) []row {
	o := e.openObjects(e.objectFiles(objectShards, e.entities()))
	rows := []row{o.getRow(), o.insertRow(), o.firstRow()}
	rows = append(rows, o.metadataRow(), o.searchedRow(), o.transactRow(), o.bulkRow())
	return append(rows, e.processRow(), e.openingRow())
}

// objectShards is how many shards the tenant has.
const objectShards = 4

// Client is a Customer as an object, which is stored where its city belongs.
type Client struct {
	Active  bool    `json:"active"`
	Balance float64 `json:"balance" onto:"index"`
	City    string  `json:"city"`
	Email   string  `json:"email"`
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Note    string  `json:"note"`
	Tier    string  `json:"tier"`
}

// DBKey implements [object.Object].
func (c Client) DBKey() object.Key[string, string] { return object.KeyOf(c.ID, c.City) }

func client(i, version int) Client { return Client(plain().customer(i, version)) }

// clients makes n clients, from the from-th on.
func clients(from, n int) []Client {
	return series(n, func(i int) Client { return client(from+i, 0) })
}

// objectSet is a tenant of an open vault.
type objectSet struct {
	*env
	n      int // how many clients there are
	vaults *object.Vaults
	set    *object.Set[Client, string, string]
	tenant object.Tenant[Client, string, string]
	shards []object.Shard
	owner  [object.Buckets]*store.Store
}

// vaultsOf is a configuration with one tenant.
func vaultsOf(files []string) object.Config {
	uris := series(len(files), func(i int) string { return "sqlite:///" + files[i] })
	return object.Config{"bench": {"acme": uris}}
}

// openVaults opens the files of a tenant, and makes them if they are missing.
func (e *env) openVaults(files []string) *objectSet {
	vaults, err := object.Open(e.ctx, vaultsOf(files), sqlite.Opener)
	e.must(err)
	set := object.NewSet[Client](vaults, "bench").Ready()
	return &objectSet{env: e, vaults: vaults, set: set, tenant: set.Tenant("acme")}
}

// objectFiles is a fixture: the files of a tenant with so many shards and clients.
func (e *env) objectFiles(shards, n int) []string {
	name := func(i int) string { return fmt.Sprintf("objects-%dx%d-%d.db", shards, n, i) }
	e.fixture(name(0), func(string) {
		o := e.openVaults(series(shards, func(i int) string { return filepath.Join(e.dir, name(i)) }))
		e.must(o.vaults.Init(e.ctx, "bench", "acme"))
		for from := 0; from < n; from += objectShards * commitSize {
			e.must(o.tenant.Insert(e.ctx, clients(from, min(objectShards*commitSize, n-from))...))
		}
		e.must(o.vaults.Close())
	})
	return series(shards, func(i int) string { return filepath.Join(e.dir, name(i)) })
}

// openObjects opens copies of the files of a tenant.
func (e *env) openObjects(files []string) *objectSet {
	o := e.openVaults(series(len(files), func(i int) string { return e.copied(files[i]) }))
	e.cleanup(func() { o.vaults.Close() })
	count, err := o.tenant.Count(e.ctx, nil)
	e.must(err)
	o.n = int(count)
	o.shards, err = o.vaults.Shards(e.ctx, "bench", "acme")
	e.must(err)
	for _, s := range o.shards {
		for _, bucket := range s.Buckets {
			o.owner[bucket] = s.Store
		}
	}
	return o
}

// store returns the store that a client belongs to.
func (o *objectSet) store(c *Client) *store.Store {
	return o.owner[crc32.ChecksumIEEE([]byte(c.City))%object.Buckets]
}

// fresh makes clients that do not exist yet.
func (o *objectSet) fresh(n int) []Client {
	o.n += n
	return clients(o.n-n, n)
}

// random picks clients that exist.
func (o *objectSet) random(n int) []Client {
	most := o.n
	return series(n, func(int) Client { return client(o.env.random.IntN(most), 0) })
}

// ownedClient is a client and the store that it belongs to.
type ownedClient struct {
	Client
	store *store.Store
	key   string
}

func (o *objectSet) place(list []Client) []ownedClient {
	return series(len(list), func(i int) ownedClient {
		return ownedClient{list[i], o.store(&list[i]), onto.ShardedKey(list[i].City, list[i].ID)}
	})
}

// eachOf makes a side of operations about clients, of which the next function makes some.
func eachOf[T any](e *env, name string, next func() []T, do func(*T) error) side {
	return side{name, func() (int, func()) {
		list := next()
		return len(list), func() {
			for i := range list {
				e.must(do(&list[i]))
			}
		}
	}}
}

func (o *objectSet) getRow() row {
	taken := o.alternate(o.getPlan(),
		eachOf(o.env, "subject", func() []Client { return o.random(getTurn) }, func(c *Client) error {
			got, err := o.tenant.SelectByID(o.ctx, c.ID, c.City)
			return cmpID(err, got.ID, c.ID)
		}),
		eachOf(o.env, "control", func() []ownedClient { return o.place(o.random(getTurn)) }, func(c *ownedClient) error {
			got, err := store.Get[Client](o.ctx, c.store.Now(), c.key)
			return cmpID(err, got.ID, c.ID)
		}))
	return faster("get of an object with its shard key / store.Get", taken[0], taken[1], atLeast(0.85))
}

// cmpID is the error, or that another client was read than the one asked for.
func cmpID(err error, got, want string) error {
	if err == nil && got != want {
		err = fmt.Errorf("got %s for %s", got, want)
	}
	return err
}

func (o *objectSet) insertRow() row {
	taken := o.alternate(o.commitPlan(),
		eachOf(o.env, "subject", func() []Client { return o.fresh(commitTurn) }, func(c *Client) error {
			return o.tenant.Insert(o.ctx, *c)
		}),
		eachOf(o.env, "control", func() []ownedClient { return o.place(o.fresh(commitTurn)) }, func(c *ownedClient) error {
			return commit(o.ctx, c.store, c.Client)
		}))
	return faster("durable insert of one object / store.Commit", taken[0], taken[1], atLeast(0.80))
}

// firstObjects is how many objects are asked for at once.
const firstObjects = 20

// firstTurn is how many questions are asked in a turn.
const firstTurn = 50

func (o *objectSet) questions(name string, ask func() (int, error)) side {
	return side{name, func() (int, func()) {
		return firstTurn, func() {
			for range firstTurn {
				n, err := ask()
				o.must(err)
				o.assert(n == firstObjects, "%s: %d answers", name, n)
			}
		}
	}}
}

func (o *objectSet) firstRow() row {
	sides := []side{o.questions("subject", func() (int, error) {
		list, err := o.tenant.Select(o.ctx, object.All().OrderBy("balance").Limit(firstObjects))
		return len(list), err
	})}
	for i := range o.shards {
		sides = append(sides, o.questions("control", o.firstOf(o.shards[i].Store)))
	}
	taken := o.alternate(o.getPlan(), sides...)
	slowest := slices.Clone(taken[1])
	for i := range slowest {
		for _, shard := range taken[2:] {
			slowest[i] = max(slowest[i], shard[i])
		}
	}
	return slower("time of the first 20 by an indexed field, 4 shards / the slowest shard alone", taken[0], slowest, atMost(1.5, "x"))
}

// firstOf asks one store.
func (o *objectSet) firstOf(s *store.Store) func() (int, error) {
	return func() (int, error) {
		n := 0
		for _, err := range store.Find[Client](s.Now()).OrderBy(onto.Path("balance").Asc()).Limit(firstObjects).All(o.ctx) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
}

func (o *objectSet) metadataRow() row {
	first := object.All().OrderBy("balance").Limit(firstObjects)
	taken := o.alternate(o.getPlan(),
		o.questions("subject", func() (int, error) {
			list, err := o.tenant.SelectWithMetadata(o.ctx, first)
			return len(list), err
		}),
		o.questions("control", func() (int, error) {
			list, err := o.tenant.Select(o.ctx, first)
			return len(list), err
		}))
	return slower("time of the first 20 with metadata, 4 shards / without", taken[0], taken[1], noGoal())
}

func (o *objectSet) searchedRow() row {
	get := func(keys func(c *Client) []string) func(*Client) error {
		return func(c *Client) error {
			got, err := o.tenant.SelectByID(o.ctx, c.ID, keys(c)...)
			return cmpID(err, got.ID, c.ID)
		}
	}
	next := func() []Client { return o.random(firstTurn) }
	taken := o.alternate(o.getPlan(),
		eachOf(o.env, "subject", next, get(func(*Client) []string { return nil })),
		eachOf(o.env, "control", next, get(func(c *Client) []string { return []string{c.City} })))
	return slower("time of a get of an object by its id alone, 4 shards / with its shard key", taken[0], taken[1], noGoal())
}

// transactRow reads one object, changes it, and writes it and another one.
func (o *objectSet) transactRow() row {
	version := 0
	pairs := func() []ownedClient {
		version++
		return o.place(o.random(commitTurn))
	}
	change := func(c Client) (Client, Client) {
		c.Balance += float64(version)
		other := c
		other.ID += "-" + fmt.Sprint(version)
		return c, other
	}
	taken := o.alternate(o.commitPlan(),
		eachOf(o.env, "subject", pairs, func(p *ownedClient) error {
			return o.tenant.Tx(o.ctx, p.City, func(tx *object.Tx) error {
				in := object.In(tx, o.set)
				c, err := in.SelectByID(o.ctx, p.ID)
				if err != nil {
					return err
				}
				c, other := change(c)
				return in.Upsert(o.ctx, c, other)
			})
		}),
		eachOf(o.env, "control", pairs, func(p *ownedClient) error {
			_, err := store.Transact(o.ctx, p.store, onto.Draft{}, func(tx *store.Tx) error {
				c, err := store.Get[Client](o.ctx, tx, p.key)
				if err != nil {
					return err
				}
				c, other := change(c)
				return tx.Ensure(c, other)
			})
			return err
		}))
	return faster("durable transaction that reads one object and writes two / store.Transact", taken[0], taken[1], noGoal())
}

// bulkObjects is how many objects a bulk insert has.
const bulkObjects = 10_000

func (o *objectSet) bulkRow() row {
	taken := o.alternate(plan{rounds: o.pick(10, 5), turns: 1},
		side{"subject", func() (int, func()) {
			list := o.fresh(bulkObjects)
			return len(list), func() { o.must(o.tenant.Insert(o.ctx, list...)) }
		}},
		side{"control", func() (int, func()) {
			list := o.place(o.fresh(bulkObjects))
			return len(list), func() { o.must(o.commitParts(list)) }
		}})
	return faster("insert of 10,000 objects over 4 shards, each / a store.Commit for each shard, one by one", taken[0], taken[1], noGoal())
}

// commitParts commits the clients of each store.
func (o *objectSet) commitParts(list []ownedClient) error {
	for _, s := range o.shards {
		var part []Client
		for i := range list {
			if list[i].store == s.Store {
				part = append(part, list[i].Client)
			}
		}
		if err := commit(o.ctx, s.Store, part); err != nil {
			return err
		}
	}
	return nil
}

// processRow reads all objects of the shards, one after the other.
func (e *env) processRow() row {
	n := e.pick(1_000_000, 100_000)
	o := e.openObjects(e.objectFiles(objectShards, n))
	used := watch(func() {
		done, err := o.tenant.Process(e.ctx, object.All(), func(context.Context, Client) error { return nil })
		e.must(err)
		e.assert(done == n, "Process called the function %d times", done)
	})
	return used.row("heap growth: Process over "+thousands(int64(n))+" objects in 4 shards", n, atMost(32, " MB"))
}

// openedShards is how many shards the tenant has that is opened.
const openedShards = 16

// openingRow opens a tenant and reads an object, or opens its stores one by one.
func (e *env) openingRow() row {
	files := e.objectFiles(openedShards, openedShards*commitSize)
	var o *objectSet
	closeAll := func() {
		if o != nil {
			e.must(o.vaults.Close())
		}
		o = nil
	}
	e.cleanup(closeAll)
	taken := e.alternate(plan{rounds: e.pick(20, 10), turns: 1},
		side{"subject", func() (int, func()) {
			closeAll()
			c := client(e.random.IntN(openedShards*commitSize), 0)
			return 1, func() {
				o = e.openVaults(files)
				got, err := o.tenant.SelectByID(e.ctx, c.ID, c.City)
				e.must(cmpID(err, got.ID, c.ID))
			}
		}},
		side{"control", func() (int, func()) {
			closeAll()
			return 1, func() { e.openEach(files) }
		}})
	r := ratioRow("", taken[0], taken[1], taken[1].over(taken[0]), noGoal())
	r.What = "opening a tenant of 16 shards, to the first object / opening and closing their stores one by one"
	return r.judge(float64(taken[0].median())/float64(time.Millisecond), atMost(100, " ms"))
}

// openEach opens stores and closes them again.
func (e *env) openEach(files []string) {
	for _, file := range files {
		b, err := sqlite.Open(e.ctx, file, nil)
		e.must(err)
		s, err := store.Open(e.ctx, b, onto.TypeOf[Client]().Keyed("id", "city"))
		e.must(err)
		e.must(s.Close())
	}
}
