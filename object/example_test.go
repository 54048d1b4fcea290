package object_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
)

// Letter is an object: it knows its key.
type Letter struct {
	ID   string `json:"id"`
	Chat string `json:"chat"`
	From string `json:"from"`
	Text string `json:"text"`
}

func (l Letter) DBKey() object.Key[string, string] { return object.KeyOf(l.ID, l.Chat) }

// The first program: the configuration lists two shards of a tenant, which here are in memory.
func Example() {
	ctx := context.Background()
	config := object.Config{"chat": {"acme": {"sqlite:///:memory:", "sqlite:///:memory:"}}}
	vaults, err := object.Open(ctx, config, sqlite.Opener)
	check(err)
	defer vaults.Close()
	letters := object.NewSet[Letter](vaults, "chat").WithIndexes("from").Ready()
	check(vaults.Init(ctx, "chat", "acme")) // once; then the tenant exists

	acme := letters.Tenant("acme")
	ctx = object.With(ctx, onto.Draft{Actor: onto.Operator("ana")})
	check(acme.Insert(ctx, Letter{"l1", "lobby", "ana", "Hello"}, Letter{"l2", "kitchen", "bob", "Coffee!"}, Letter{"l3", "lobby", "ana", "Anybody?"}))
	list, err := acme.Select(ctx, object.Where().Key("from").Equal("ana").OrderByDesc("id").Limit(20))
	check(err)
	for _, l := range list {
		fmt.Println(l.ID, l.Text)
	}
	// Output:
	// l3 Anybody?
	// l1 Hello
}

// The program of the package comment, which compiles. A real one checks each error.
func Example_packageComment() {
	ctx := context.Background()

	config, err := object.ReadConfig("vaults.yaml") // chat: {acme: [sqlite:///acme-1.db, sqlite:///acme-2.db]}
	vaults, err := object.Open(ctx, config, sqlite.Opener)
	letters := object.NewSet[Letter](vaults, "chat").WithIndexes("from").Ready()
	err = vaults.Init(ctx, "chat", "acme") // once; then the tenant exists
	defer vaults.Close()

	acme := letters.Tenant("acme")
	ctx = object.With(ctx, onto.Draft{Actor: onto.Operator("ana")})
	err = acme.Insert(ctx, Letter{ID: "l1", Chat: "lobby", From: "ana", Text: "Hello"})
	list, err := acme.Select(ctx, object.Where().Key("from").Equal("ana").OrderByDesc("id").Limit(20))

	fmt.Println(list, err)
}

// Account is an object whose shard key is the name of a bank.
type Account struct {
	Number  string `json:"number"`
	Bank    string `json:"bank"`
	Balance int64  `json:"balance"`
}

func (a Account) DBKey() object.Key[string, string] { return object.KeyOf(a.Number, a.Bank) }

// A transfer is one commit, or nothing: both accounts have the same shard key.
func ExampleTenant_Tx() {
	ctx := context.Background()
	accounts, closeVaults := openSet[Account](ctx)
	defer closeVaults()
	acme := accounts.Tenant("acme")
	check(acme.Insert(ctx, Account{"1", "north", 100}, Account{"2", "north", 0}))

	transfer := func(from, to string, amount int64) error {
		return acme.Tx(ctx, "north", func(tx *object.Tx) error {
			a, err := object.In(tx, accounts).SelectByID(ctx, from)
			if err != nil {
				return err
			}
			b, err := object.In(tx, accounts).SelectByID(ctx, to)
			if err != nil {
				return err
			}
			a.Balance, b.Balance = a.Balance-amount, b.Balance+amount
			if a.Balance < 0 {
				return fmt.Errorf("account %s has not enough", from)
			}
			return object.In(tx, accounts).Upsert(ctx, a, b)
		})
	}
	fmt.Println(transfer("1", "2", 70))
	fmt.Println(transfer("1", "2", 70))
	list, err := acme.SelectAll(ctx)
	fmt.Println(list, err)
	// Output:
	// <nil>
	// account 1 has not enough
	// [{1 north 30} {2 north 70}] <nil>
}

// And binds tighter than Or, and everything else is a filter. A path that leads to no field is
// an error before anything is asked.
func ExampleWhere() {
	ctx := context.Background()
	letters, closeVaults := openSet[Letter](ctx)
	defer closeVaults()
	acme := letters.Tenant("acme")
	check(acme.Insert(ctx, Letter{"l1", "lobby", "ana", "Hello"}, Letter{"l2", "kitchen", "bob", "Coffee!"}, Letter{"l3", "lobby", "bob", "Anybody?"}))

	show := func(where object.Clause) {
		list, err := acme.Select(ctx, where)
		fmt.Println(list, err)
	}
	show(object.Where().Key("from").Equal("ana").Or().Key("from").Equal("bob").And().Key("chat").Equal("kitchen"))
	show(object.Where().Key("text").Contains("body").Limit(1))
	show(object.Where().Filter(onto.Not{Of: onto.Path("chat").Eq("lobby")}))
	show(object.Where().Key("form").Equal("ana"))
	// Output:
	// [{l2 kitchen bob Coffee!} {l1 lobby ana Hello}] <nil>
	// [{l3 lobby bob Anybody?}] <nil>
	// [{l2 kitchen bob Coffee!}] <nil>
	// [] Letter has no field form
}

// A lock keeps out others who take it, until it is released or its program ends.
func ExampleTenant_Lock() {
	ctx := context.Background()
	letters, closeVaults := openSet[Letter](ctx)
	defer closeVaults()
	acme := letters.Tenant("acme")

	lock, err := acme.Lock(ctx, object.KeyOf("l1", "lobby"), "being moderated")
	check(err)
	_, err = acme.Lock(ctx, object.KeyOf("l1", "lobby"), "")
	fmt.Println(onto.CodeOf(err))
	locks, err := acme.Locks(ctx)
	check(err)
	fmt.Println(locks[0].ID, locks[0].Description)
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// lock_contention
	// l1 being moderated
	// <nil>
}

// AsOf stands in front of any read.
func ExampleReader_AsOf() {
	ctx := context.Background()
	letters, closeVaults := openSet[Letter](ctx)
	defer closeVaults()
	acme := letters.Tenant("acme")
	check(acme.Insert(ctx, Letter{"l1", "lobby", "ana", "Helo"}))
	then := time.Now()
	check(acme.Update(ctx, Letter{"l1", "lobby", "ana", "Hello"}))

	was, err := acme.AsOf(then).SelectByID(ctx, "l1", "lobby")
	check(err)
	is, err := acme.SelectByID(ctx, "l1", "lobby")
	check(err)
	fmt.Println(was.Text, is.Text)
	// Output: Helo Hello
}

// openSet opens a set of objects of a tenant acme, with two shards in memory.
func openSet[T object.Object[string, string]](ctx context.Context) (*object.Set[T, string, string], func() error) {
	vaults, err := object.Open(ctx, object.Config{"chat": {"acme": {"sqlite:///:memory:", "sqlite:///:memory:"}}}, sqlite.Opener)
	check(err)
	check(vaults.Init(ctx, "chat", "acme"))
	return object.NewSet[T](vaults, "chat").Ready(), vaults.Close
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
