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
			Subscription{Link: onto.Between[Customer, Product]("c1", "p1"), Seats: 3},
			Subscription{Link: onto.Between[Customer, Product]("c2", "p1"), Seats: 1},
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
	}
}

// question is a question with the command that answers it.
type question struct {
	text string
	args string // of the command, without spaces inside one
}

func questions() []question {
	return []question{
		{"Who are the customers now?", "query entities Customer"},
		{"Who were they on opening day, after commit 1?", "query entities Customer --as-of 1"},
		{"What happened to Ada?", "log Customer c1"},
		{"Who is to thank for each field of hers?", "blame Customer c1"},
		{"What has changed since opening day?", "diff 1 head"},
	}
}

// invitations are commands for the reader to try.
func invitations() []string {
	return []string{
		`put Customer '{"id":"c4","name":"Edsger","tier":"Silver"}' --actor operator:me`,
		`query relations Subscription --as-of 1 --json`,
		`log Customer c3`,
		`commits --last 3`,
		`commits examine --id 4`,
		`schema export`,
	}
}
