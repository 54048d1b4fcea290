package main

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// planDoc is the plan of a migration.
type planDoc struct {
	Head           int64         `json:"head"`
	Types          []typePlanDoc `json:"types"`
	NeedsUpgraders []string      `json:"needs_upgraders"` // steps that have none
	SchemaOnly     []string      `json:"schema_only"`     // types of which nothing is written anew
	Token          string        `json:"token"`
}

type typePlanDoc struct {
	Kind        onto.Kind     `json:"type_kind"`
	Name        string        `json:"type_name"`
	RenamedFrom *string       `json:"renamed_from"`
	FromVersion int           `json:"from_version"` // 0 if the type is new
	ToVersion   int           `json:"to_version"`
	Added       []string      `json:"added"`
	Removed     []string      `json:"removed"`
	Changed     []string      `json:"changed"`
	Live        int64         `json:"live"`
	Rewrite     bool          `json:"rewrite"`
	Steps       []stepPlanDoc `json:"steps"`
	Learned     []int         `json:"learned"`
}

type stepPlanDoc struct {
	Step       string  `json:"step"`
	How        string  `json:"how"`
	Missing    *string `json:"missing"`
	Suggestion *string `json:"suggestion"`
}

func newPlanDoc(p *store.MigrationPlan) planDoc {
	doc := planDoc{Head: p.Head, Types: []typePlanDoc{}, NeedsUpgraders: []string{}, SchemaOnly: []string{}, Token: p.Token}
	for i := range p.Types {
		t := &p.Types[i]
		doc.Types = append(doc.Types, newTypePlanDoc(t))
		if t.SchemaOnly() {
			doc.SchemaOnly = append(doc.SchemaOnly, t.Name)
		}
		for _, s := range t.Steps {
			if s.Missing != "" {
				doc.NeedsUpgraders = append(doc.NeedsUpgraders, s.Name)
			}
		}
	}
	return doc
}

func newTypePlanDoc(t *store.TypeMigration) typePlanDoc {
	doc := typePlanDoc{
		Kind: t.Kind, Name: t.Name, RenamedFrom: orNull(t.RenamedFrom), FromVersion: t.From, ToVersion: t.To,
		Added: orEmpty(t.Difference.Added), Removed: orEmpty(t.Difference.Removed), Changed: orEmpty(t.Difference.Changed),
		Live: t.Live, Rewrite: t.Rewrite, Steps: []stepPlanDoc{}, Learned: orEmpty(t.Learned),
	}
	for _, s := range t.Steps {
		doc.Steps = append(doc.Steps, stepPlanDoc{s.Name, s.How, orNull(s.Missing), orNull(s.Suggest)})
	}
	return doc
}

func versions(from, to int) string { return "version " + versionText(from) + " → " + versionText(to) }

func versionText(v int) string { return strconv.Itoa(v) }

// printMigrated tells what a migration did.
func (c *command) printMigrated(res onto.Result, plan *store.MigrationPlan) error {
	if c.json {
		doc := struct {
			resultDoc
			Types []typePlanDoc `json:"types"`
		}{newResultDoc(res), newPlanDoc(plan).Types}
		return c.document(doc)
	}
	if plan.Empty() {
		c.say("nothing to do: the types are as the file says")
		return nil
	}
	for _, t := range plan.Types {
		c.say("%s %s is at version %d", t.Kind, t.Name, t.To)
	}
	if !res.Changed() {
		c.say("no commit was needed")
		return nil
	}
	return c.printCommitted(res)
}
