package store_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/store"
)

type Person struct {
	ID string `json:"id" onto:"key"`
}

// Contract is facts about persons; each field is an attribute.
type Contract struct {
	onto.About[Person]          // onto.About[string] if subjects are any texts
	Employer           string   `json:"employer" onto:"index"`
	Salary             int      `json:"salary"`
	Skills             []string `json:"skills" onto:"many"`
}

func contractFact(attribute string, value any, from, until time.Time) onto.Fact {
	return onto.Fact{Type: "Contract", Subject: "ada", Attribute: attribute, Value: value, From: from, Until: until}
}

// openContracts is a store that knows what was signed in January.
func openContracts(ctx context.Context) (*store.Store, onto.Result) {
	s, err := store.Open(ctx, memory.New(nil).Open(), onto.TypeOf[Person](), onto.TypeOf[Contract]())
	if err != nil {
		log.Fatal(err)
	}
	signed, err := s.Commit(ctx, onto.Draft{Actor: onto.Operator("ana"), Comment: "signed"}.Assert(
		contractFact("employer", "Acme", day(1, 1), time.Time{}),
		contractFact("salary", 4000, day(1, 1), day(7, 1)),
		contractFact("salary", 4500, day(7, 1), time.Time{}),
		contractFact("skills", "welding", day(1, 1), time.Time{}),
		contractFact("skills", "drawing", day(3, 1), time.Time{})))
	if err != nil {
		log.Fatal(err)
	}
	return s, signed
}

// What holds at a time is read as a struct: what is known now, or what was known then.
func ExampleAbout() {
	ctx := context.Background()
	s, signed := openContracts(ctx)
	defer s.Close()
	if _, err := s.Commit(ctx, onto.Draft{Comment: "the raise came early"}.Assert(
		contractFact("salary", 4500, day(4, 1), time.Time{}))); err != nil {
		log.Fatal(err)
	}
	may, err := store.About[Contract](ctx, s.Now().ValidAt(day(5, 1)), "ada") // what is known now of May
	if err != nil {
		log.Fatal(err)
	}
	was, err := store.About[Contract](ctx, s.At(signed.ID).ValidAt(day(5, 1)), "ada") // what that commit said of May
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(may.Subject, may.Employer, may.Salary, may.Skills)
	fmt.Println(was.Subject, was.Employer, was.Salary, was.Skills)
	// Output:
	// ada Acme 4500 [welding drawing]
	// ada Acme 4000 [welding drawing]
}

// A timeline tells which fact speaks when. A fact that was wrong is retracted, one that
// was right until a time is revoked.
func ExampleFacts_Timeline() {
	ctx := context.Background()
	s, _ := openContracts(ctx)
	defer s.Close()
	show := func(title string) (last onto.Fact) {
		fmt.Println(title)
		for seg, err := range s.Now().Facts("Contract").About("ada").Attribute("salary").Gaps().Timeline(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			until := "on"
			if !seg.Until.IsZero() {
				until = seg.Until.Format(time.DateOnly)
			}
			if seg.Gap {
				fmt.Println(" ", seg.From.Format(time.DateOnly), until, "nothing is known")
				continue
			}
			fmt.Println(" ", seg.From.Format(time.DateOnly), until, seg.Fact.Value)
			last = seg.Fact
		}
		return last
	}
	pay := show("signed")
	if _, err := s.Commit(ctx, onto.Draft{Comment: "she left"}.Revoke(pay.Identity(), day(9, 1), nil)); err != nil {
		log.Fatal(err)
	}
	show("she left")
	if _, err := s.Commit(ctx, onto.Draft{Comment: "misread the scan"}.
		Retract(pay.Identity()).Assert(contractFact("salary", 4600, day(8, 1), day(9, 1)))); err != nil {
		log.Fatal(err)
	}
	show("misread the scan")
	// Output:
	// signed
	//   2026-01-01 2026-07-01 4000
	//   2026-07-01 on 4500
	// she left
	//   2026-01-01 2026-07-01 4000
	//   2026-07-01 2026-09-01 4500
	// misread the scan
	//   2026-01-01 2026-07-01 4000
	//   2026-07-01 2026-08-01 nothing is known
	//   2026-08-01 2026-09-01 4600
}

// Filters see the facts that speak: who earns more than 4200 in May, and in August.
func ExampleFacts_Where() {
	ctx := context.Background()
	s, _ := openContracts(ctx)
	defer s.Close()
	for _, month := range []time.Month{5, 8} {
		well := s.Now().ValidAt(day(month, 1)).Facts("Contract").Where(onto.Path("salary").Gt(4200))
		n, err := well.Count(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(month, n)
	}
	// Output:
	// May 0
	// August 1
}
