package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// A type changes: name becomes full_name, and there are seats. What was stored
// before is read as the type is now.
func ExampleMigrate() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := yesterday(ctx, db); err != nil {
		log.Fatal(err)
	}

	type Account struct {
		ID       string `json:"id" onto:"key"`
		FullName string `json:"full_name"`
		Seats    int    `json:"seats"`
	}
	m := &store.Migration{
		Types: []onto.Type{onto.TypeOf[Account]()},
		Upgraders: []store.Upgrader{
			store.RenameField("Account", 1, "name", "full_name"),
			{Type: "Account", From: 1, Program: ".seats = 1"},
		},
	}
	plan, err := store.PlanMigration(ctx, db, m)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range plan.Types {
		fmt.Println(t.Difference, "-", t.Live, "live")
	}
	if _, _, err := store.Migrate(ctx, db, m, &store.ApplyOptions{Token: plan.Token}); err != nil {
		log.Fatal(err)
	}

	s, err := store.Open(ctx, db, m.Types...)
	if err != nil {
		log.Fatal(err)
	}
	then, err := store.Get[Account](ctx, s.At(1), "a1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("then, as it is now:", then.FullName, then.Seats)
	stored, err := s.At(1).AsStored().Get(ctx, onto.EntityID("Account", "a1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("then, as stored:", string(stored.Fields))
	// Output:
	// Account: + full_name, + seats, - name - 1 live
	// then, as it is now: Ada 1
	// then, as stored: {"id":"a1","name":"Ada"}
}

// A struct gets a field, and joins a store that is open.
func ExampleStore_Register() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := yesterday(ctx, db); err != nil {
		log.Fatal(err)
	}
	s, err := store.Open(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	type Account struct {
		ID    string `json:"id" onto:"key"`
		Name  string `json:"name"`
		Seats int    `json:"seats"`
	}
	if err := s.Register(ctx, onto.TypeOf[Account]()); err != nil {
		log.Fatal(err)
	}
	got, err := store.Get[Account](ctx, s.Now(), "a1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", got)
	// Output: {ID:a1 Name:Ada Seats:0}
}

// yesterday is the program as it was before.
func yesterday(ctx context.Context, db *sqlite.Backend) error {
	type Account struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name"`
	}
	s, err := store.Open(ctx, kept{db}, onto.TypeOf[Account]())
	if err != nil {
		return err
	}
	_, err = s.Commit(ctx, onto.Draft{}.Ensure(Account{ID: "a1", Name: "Ada"}))
	return err
}

// A compatible change: programs with the old struct go on beside those with the new one,
// and what they write keeps the field that they do not know.
func ExampleMigrate_compatible() {
	ctx := context.Background()
	mem := memory.New(nil)
	type Guest struct {
		ID     string `json:"id" onto:"key"`
		Visits int    `json:"visits"`
	}
	old, err := store.Open(ctx, mem.Open(), onto.TypeOf[Guest]())
	if err != nil {
		log.Fatal(err)
	}
	defer old.Close()
	commit(ctx, old, onto.Draft{}.Ensure(Guest{ID: "g1"}))

	// The next version of the program. It may do this at every start.
	type GuestV2 struct {
		ID      string `json:"id" onto:"key"`
		Visits  int    `json:"visits"`
		Country string `json:"country,omitzero" onto:"default=\"PT\""`
	}
	db := mem.Open()
	m := &store.Migration{Types: []onto.Type{onto.TypeOf[GuestV2]().As("Guest")}}
	header := onto.Draft{Actor: onto.Daemon("deploy"), Comment: "guests have a country"}
	if _, _, err := store.Migrate(ctx, db, m, &store.ApplyOptions{Force: true, Draft: header}); err != nil {
		log.Fatal(err)
	}
	s, err := store.Open(ctx, db, m.Types...)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	commit(ctx, s, onto.Draft{}.Merge(onto.Entity{Type: "Guest", Key: "g1", Fields: map[string]any{"country": "FR"}}))

	_, err = store.Update(ctx, old, onto.Draft{}, store.Key{"g1"}, func(g *Guest) error {
		g.Visits++
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	g, err := store.Get[GuestV2](ctx, s.Now(), "g1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Visits, g.Country)
	// Output:
	// 1 FR
}

// A lease makes sure that one program at a time does something, and that one that was
// too slow cannot do it any more.
func ExampleStore_Lease() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()
	lease, err := s.Lease(ctx, "nightly-report", nil)
	if err != nil {
		log.Fatal(err) // LockContention: another program holds it
	}
	held := lease.Current()
	_, err = s.Commit(ctx, onto.Draft{Lease: &held, Comment: "nightly report"}.Ensure(Product{SKU: "p1", Title: "Lamp"}))
	fmt.Println("with the lease:", err)

	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = s.Commit(ctx, onto.Draft{Lease: &held}.Ensure(Product{SKU: "p2", Title: "Desk"}))
	fmt.Println("without it:", onto.CodeOf(err))
	// Output:
	// with the lease: <nil>
	// without it: lease_expired
}

// A mistake is undone by a compensating commit; history stays.
func ExampleStore_Revert() {
	ctx := context.Background()
	s := open(ctx)
	defer s.Close()
	if _, err := s.Commit(ctx, onto.Draft{}.Ensure(Product{SKU: "p1", Title: "Lamp"})); err != nil {
		log.Fatal(err)
	}
	mistake, err := s.Commit(ctx, onto.Draft{}.Delete(onto.EntityID("Product", "p1")))
	if err != nil {
		log.Fatal(err)
	}
	res, _, err := s.Revert(ctx, onto.Draft{Actor: onto.Operator("ana")}, store.Revert{Commit: mistake.ID})
	if err != nil {
		log.Fatal(err)
	}
	p, err := store.Get[Product](ctx, s.Now(), "p1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Comment, "->", p.Title)
	// Output:
	// revert commit 2 -> Lamp
}
