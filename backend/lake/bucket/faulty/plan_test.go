package faulty_test

import (
	"reflect"
	"testing"

	"github.com/ontologia/onto/backend/lake/bucket/faulty"
)

func TestParsePlan(t *testing.T) {
	for text, want := range map[string]faulty.Plan{
		"":             {},
		"swap:lost@3":  {Rules: []faulty.Rule{{Call: "swap", Fault: faulty.Lost, At: 3}}},
		"list:old":     {Rules: []faulty.Rule{{Call: "list", Fault: faulty.Old}}},
		"any:cut@2+10": {Rules: []faulty.Rule{{Call: "any", Fault: faulty.Cut, At: 2, N: 10}}},
		"seed=7,get:stale%2.5+4,write[meta/head.json]:late": {Seed: 7, Rules: []faulty.Rule{
			{Call: "get", Fault: faulty.Stale, Percent: 2.5, N: 4}, {Call: "write", Key: "meta/head.json", Fault: faulty.Late}}},
	} {
		got, err := faulty.ParsePlan(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the plan %q: got %+v, error %v, want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("the plan %q is written as %q", text, got.String())
		}
	}
	for _, text := range []string{",", "swap", "swap:", ":lost", "swap:lost,", "put:lost", "swap:gone", "get:lost", "swap:stale", "list:flip", "swap:lost@0",
		"swap:lost@x", "swap:lost@99999999999", "get:flip%0", "get:flip%101", "get:flip%-1", "swap:lost@1%5", "any:cut+0", "seed=x", "seed=-1", "swap[]:lost", "swap[a:lost"} {
		if p, err := faulty.ParsePlan(text); err == nil {
			t.Errorf("the plan %q: got %+v, want an error", text, p)
		}
	}
}

// A plan that can be parsed is printed in a form that parses to the same plan.
func FuzzParsePlan(f *testing.F) {
	f.Add("swap:lost@3,get:stale%10,list:old")
	f.Add("seed=7, write[head]:late@5+8 ,any:cut%0.25+3")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := faulty.ParsePlan(text)
		if err != nil {
			return
		}
		again, err := faulty.ParsePlan(p.String())
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("the plan %q is %q, which is read as %+v, error %v, want %+v", text, p, again, err, p)
		}
	})
}
