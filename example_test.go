package onto_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/ontologia/onto"
)

// A struct becomes a type through its json and onto tags. A pointer is
// optional; a default stands in for what is missing.
func ExampleTypeOf() {
	type Account struct {
		ID    string  `json:"id" onto:"key"`
		Owner string  `json:"owner" onto:"search"`
		Plan  string  `json:"plan" onto:"index,default=\"free\""`
		Email *string `json:"email"`
	}
	schema, err := onto.TypeOf[Account]().Schema()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Kind, schema.Name, "by", schema.Key)
	for _, f := range schema.Fields {
		fmt.Printf("  %-5s %s, optional %t, default %q\n", f.Name, f.Type, f.Optional, f.Default)
	}
	// Output:
	// entity Account by id
	//   email string, optional true, default ""
	//   id    string, optional false, default ""
	//   owner string, optional false, default ""
	//   plan  string, optional false, default "\"free\""
}

// What is inside is a part of the type, at every depth.
func ExampleTypeOf_nested() {
	type Address struct {
		City string `json:"city" onto:"index"`
		Zip  *int   `json:"zip"`
	}
	type Line struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty"`
	}
	type Order struct {
		ID     string            `json:"id" onto:"key"`
		Ship   Address           `json:"ship"`
		Lines  []Line            `json:"lines"`
		Labels map[string]string `json:"labels"`
		Status string            `json:"status" onto:"enum=open|paid"`
		Due    onto.Date         `json:"due"`
	}
	schema, err := onto.TypeOf[Order]().Schema()
	if err != nil {
		fmt.Println(err)
		return
	}
	ship, always, _ := schema.Lookup([]string{"ship", "zip"})
	fmt.Println("ship.zip:", ship.Type, "in each order:", always)
	lines, _ := schema.Field("lines")
	_, err = lines.Fit([]byte(`[{"qty":1,"sku":"p1"},{"qty":"two","sku":"p2"}]`))
	fmt.Println(err)
	// Output:
	// ship.zip: int in each order: false
	// field lines[1].qty: expected int, found string
}

// Embedding a Link makes a struct a relation. Its endpoints are not fields:
// they are part of its identity.
func ExampleLink() {
	type Holds struct {
		onto.Link[Customer, Product]
		Seats int `json:"seats"`
	}
	schema, err := onto.TypeOf[Holds]().Schema()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schema.Kind, schema.Left, "→", schema.Right, schema.FieldNames())

	h := Holds{Link: onto.Between[Customer, Product]("c1", "p1"), Seats: 3}
	fmt.Println(h.Left, "→", h.Right)
	// Output:
	// relation Customer → Product [seats]
	// c1 → p1
}

// Mistakes in a struct are reported when its type is used, with a hint for the
// developer.
func ExampleType_Schema() {
	type Note struct {
		ID   string `json:"id" onto:"key"`
		Lang string `json:"lang" onto:"default=en"`
	}
	_, err := onto.TypeOf[Note]().Schema()
	fmt.Println(err)
	fmt.Println("hint:", onto.HintOf(err))
	// Output:
	// Note.lang: default en is not JSON
	// hint: a text default needs quotes: default="Silver"
}

// A draft is a value, so drafts can share a beginning.
func ExampleDraft() {
	nightly := onto.Draft{Actor: onto.Daemon("import"), Comment: "nightly import"}
	lamps := nightly.Ensure(Product{SKU: "p1", Title: "Lamp"}, Product{SKU: "p2", Title: "Torch"})
	cleanup := nightly.Delete(onto.EntityID("Product", "p0")).ExpectHead(41)

	for _, d := range []onto.Draft{nightly, lamps, cleanup} {
		n := 0
		for range d.Intents() {
			n++
		}
		fmt.Println(d.Actor, n, "intents,", len(d.Expectations()), "expectations")
	}
	// Output:
	// daemon:import 0 intents, 0 expectations
	// daemon:import 2 intents, 0 expectations
	// daemon:import 1 intents, 1 expectations
}

// Actors are written kind:id, on the command line and in messages.
func ExampleParseActor() {
	a, err := onto.ParseActor("operator:ana")
	fmt.Println(a.Kind, a.ID, err)

	_, err = onto.ParseActor("ana")
	fmt.Println(err)
	fmt.Println(onto.HintOf(err))
	// Output:
	// operator ana <nil>
	// actor "ana" has no kind
	// write KIND:ID, for example operator:ana
}

// Programs ask for the code, people read the message, operators the hint. All
// three survive wrapping.
func ExampleError() {
	err := fmt.Errorf("renew lease: %w",
		onto.Errorf(onto.NotFound, "%s does not exist", onto.EntityID("Lease", "l1")).
			WithHint("see what exists").WithCommand("query", "entities", "Lease"))

	if errors.Is(err, onto.NotFound) {
		fmt.Println(err)
		fmt.Println("hint:", onto.HintOf(err))
	}
	// Output:
	// renew lease: Lease "l1" does not exist
	// hint: see what exists: onto query entities Lease
}

// DiffSchemas describes how a type in the program differs from the stored one.
func ExampleDiffSchemas() {
	type ProductV2 struct {
		SKU   string  `json:"sku" onto:"key"`
		Title *string `json:"title"`
		Price float64 `json:"price"`
	}
	stored, err := onto.TypeOf[Product]().Schema()
	if err != nil {
		log.Fatal(err)
	}
	given, err := onto.TypeOf[ProductV2]().As("Product").Schema()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(onto.DiffSchemas(stored, given))
	// Output:
	// Product: + price, ~ title: string → string optional
}
