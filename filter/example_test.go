package filter_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

func ExampleParse() {
	f, err := filter.Parse(`$.tier == "Gold" and ($.age >= 21 or not $.email.is_null())`)
	fmt.Println(filter.Format(f), err)

	_, err = filter.Parse(`$.email == null`)
	fmt.Println(err)
	fmt.Println(onto.HintOf(err))
	// Output:
	// $.tier == "Gold" & ($.age >= 21 | ~$.email.is_null()) <nil>
	// column 12: nothing can be compared with null
	// use .is_null()
}

func ExampleFormat() {
	fmt.Println(filter.Format(onto.And{
		onto.Path("address", "city").In("Rome", "Oslo"),
		onto.Or{onto.Path("tags").Some().Eq("new"), onto.Path("events").Some("kind").Ne("sale")},
		onto.Not{Of: onto.Left("content-type").StartsWith("text/")},
	}))
	// Output:
	// $.address.city.in_(["Rome", "Oslo"]) & ($.tags.any() == "new" | $.events.any_path("kind") != "sale") & ~left.$."content-type".startswith("text/")
}

func ExampleCheck() {
	scope := &filter.Scope{Schema: &onto.Schema{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{
		{Name: "id", Type: onto.String}, {Name: "joined", Type: onto.Time},
	}}}
	f, err := filter.Check(onto.Path("joined").Ge(time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)), scope)
	fmt.Println(filter.Format(f), err)

	f, err = filter.Parse(`$.id == "c1" & $.jioned >= "2026-02-10"`)
	if err == nil {
		_, err = filter.Check(f, scope)
	}
	fmt.Println(err)
	fmt.Println(onto.HintOf(err))
	// Output:
	// $.joined >= "2026-02-10T00:00:00.000000+00:00" <nil>
	// column 16: Customer has no field jioned
	// did you mean joined?
}

func ExampleMatch() {
	row := &filter.Row{Own: json.RawMessage(`{"age":"unknown","tier":"Gold"}`)}
	for _, text := range []string{`$.tier == "Gold"`, `$.age < 21`, `~$.age < 21`, `$.age != 21`, `$.email != "x"`} {
		f, err := filter.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(text, filter.Match(f, row))
	}
	// Output:
	// $.tier == "Gold" true
	// $.age < 21 false
	// ~$.age < 21 true
	// $.age != 21 true
	// $.email != "x" false
}
