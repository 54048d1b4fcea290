package main

import "github.com/ontologia/onto"

// The types of the demo.
type (
	Customer struct {
		ID   string `json:"id" onto:"key"`
		Name string `json:"name" onto:"search"`
		Tier string `json:"tier" onto:"index"`
	}

	Product struct {
		SKU   string `json:"sku" onto:"key"`
		Title string `json:"title"`
	}

	Subscription struct {
		onto.Link[Customer, Product]
		Seats int `json:"seats"`
	}
)

const opening = `A small shop keeps customers, products and subscriptions. Every change is a
commit: who, when, why. Nothing is overwritten, so the past can be asked, too.
`

// chapter is one commit of the story, and the command that would make it.
type chapter struct {
	draft onto.Draft
	args  string // "" if it takes more than one command
}

// story is what happened, commit by commit.
func story() []chapter {
	return []chapter{
		{onto.Draft{Actor: onto.Operator("ana"), Comment: "opening day"}.Ensure(
			Customer{ID: "c1", Name: "Ada", Tier: "Silver"},
			Customer{ID: "c2", Name: "Grase", Tier: "Gold"},
			Customer{ID: "c3", Name: "Linus", Tier: "Silver"},
			Product{SKU: "p1", Title: "Lamp of the month"},
			Product{SKU: "p2", Title: "Chair of the month"},
			Subscription{Link: onto.Between[Customer, Product]("c1", "p1"), Seats: 3},
			Subscription{Link: onto.Between[Customer, Product]("c2", "p1"), Seats: 1},
			Subscription{Link: onto.Between[Customer, Product]("c2", "p2"), Seats: 4},
		), ""},
		{onto.Draft{Actor: onto.Daemon("billing"), Comment: "paid for a year"}.Ensure(
			Customer{ID: "c1", Name: "Ada", Tier: "Gold"},
		), `put Customer '{"id":"c1","name":"Ada","tier":"Gold"}' --actor daemon:billing --comment "paid for a year"`},
		{onto.Draft{Actor: onto.Operator("bo"), Comment: "name misspelled"}.Ensure(
			Customer{ID: "c2", Name: "Grace", Tier: "Gold"},
		), `put Customer '{"id":"c2","name":"Grace","tier":"Gold"}' --actor operator:bo --comment "name misspelled"`},
		{onto.Draft{Actor: onto.Remote("web"), Comment: "account closed"}.Delete(
			onto.EntityID("Customer", "c3"),
		), `delete Customer c3 --actor remote:web --comment "account closed"`},
		{onto.Draft{Actor: onto.Operator("ana"), Comment: "sold out for good"}.Delete(
			onto.EntityID("Product", "p2"),
		), `delete Product p2 --actor operator:ana --comment "sold out for good"`},
	}
}

// question is a question with the command that answers it.
type question struct {
	text string
	args []string
}

func questions() []question {
	return []question{
		{"Who are the customers now?", []string{"query", "entities", "Customer"}},
		{"Who were they on opening day, after commit 1?", []string{"query", "entities", "Customer", "--as-of", "1"}},
		{"Who had more than 2 seats as a Gold customer, after commit 3?", []string{
			"query", "relations", "Subscription", "--as-of", "3", "--where", `left.$.tier == "Gold" & $.seats > 2`}},
		{"How many seats were there for each tier?", []string{
			"query", "relations", "Subscription", "--as-of", "3", "--group-by", "left.$.tier", "--agg", "count,sum:$.seats"}},
		{"Which subscriptions are for a product that is now gone?", []string{
			"query", "relations", "Subscription", "--where", "right.$.sku.is_null()"}},
		{"What happened to Ada?", []string{"log", "Customer", "c1"}},
		{"Who is to thank for each field of hers?", []string{"blame", "Customer", "c1"}},
		{"What has changed since opening day?", []string{"diff", "1", "head"}},
	}
}

// invitations are commands for the reader to try.
func invitations() []string {
	return []string{
		`put Customer '{"id":"c4","name":"Edsger","tier":"Silver"}' --actor operator:me`,
		`query entities Customer --search 'ad*'`,
		`query traverse Customer --via Subscription --as-of 1`,
		`query entities Customer --where '$.tier == "Gold"' --explain`,
		`export --output - --type Customer`,
		`log Customer c3`,
		`commits --last 3`,
		`commits examine --id 6`,
		`events show`,
		`events handle --handler me --type OrderPaid --once -- cat`,
		`schema export`,
	}
}
