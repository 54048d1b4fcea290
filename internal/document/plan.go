package document

import (
	"encoding/json"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store"
)

// DryRun says that nothing was changed.
type DryRun struct {
	DryRun bool `json:"dry_run"`
}

// PlannedChange is what a commit would change.
type PlannedChange struct {
	Change
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// NewPlannedChange describes what a commit would change.
func NewPlannedChange(c onto.Change) PlannedChange {
	return PlannedChange{NewChange(c), LiveFields(c.Before), LiveFields(c.After)}
}

// CommitPlan is what a commit would do, besides its changes, which come before it.
type CommitPlan struct {
	Head int64 `json:"head_commit_id"`
	Result
	Conditions []Condition `json:"conditions"`
}

// Condition is the verdict on a condition of a commit.
type Condition struct {
	Name     store.ConditionName `json:"name"`
	Expected *int64              `json:"expected_commit_id,omitempty"`
	Met      bool                `json:"met"`
	Code     *string             `json:"code"`    // null if it is met
	Message  *string             `json:"message"` // likewise
}

// NewCommitPlan describes what a commit would do, and which ends of a relation are missing.
func NewCommitPlan(p store.CommitPlan, missing []onto.Identity) CommitPlan {
	doc := CommitPlan{Head: p.Head, Result: NewResult(p.Result), Conditions: []Condition{}}
	doc.MissingEnds = NewIdentities(missing)
	if doc.At == 0 {
		doc.At = p.Head
	}
	for i := range p.Conditions {
		c := &p.Conditions[i]
		cond := Condition{Name: c.Name, Met: c.Err == nil}
		switch c.Name {
		case store.ExpectedHead, store.ExpectedVersion, store.GivenHead, store.GivenVersion, store.ExistingCause:
			cond.Expected = &c.Commit
		}
		if c.Err != nil {
			code, message := string(CodeOf(c.Err)), Message(c.Err)
			cond.Code, cond.Message = &code, &message
		}
		doc.Conditions = append(doc.Conditions, cond)
	}
	return doc
}
