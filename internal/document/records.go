package document

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/records"
)

// Import is what an import did, or would do.
type Import struct {
	DryRun    bool       `json:"dry_run"`
	Records   int64      `json:"records"`
	Inserts   int64      `json:"inserts"`
	Updates   int64      `json:"updates"`
	Unchanged int64      `json:"unchanged"`
	Deletes   int64      `json:"deletes"`
	Skipped   int64      `json:"skipped"`
	Conflicts int64      `json:"conflicts"`
	Repeated  int64      `json:"repeated"`
	Untracked int64      `json:"untracked"` // not compared with earlier ones
	Rejected  int64      `json:"rejected"`  // bad ones, left out
	Emptied   int64      `json:"emptied"`   // values of updated things
	CommitID  *int64     `json:"commit_id"` // null if none was made
	First     []Conflict `json:"first_conflicts"`
	Rejects   []Rejected `json:"first_rejected"`
	Emitted   *int       `json:"emitted,omitempty"` // events; absent if there are none to emit
}

// Conflict is a record that an apply would refuse.
type Conflict struct {
	File string `json:"file,omitempty"` // if several were read
	Line int64  `json:"line"`
	Identity
	Reason string `json:"reason"`
}

// Rejected is a record that an import leaves out.
type Rejected struct {
	File   string    `json:"file,omitempty"` // if there are several
	Line   int64     `json:"line"`
	Code   onto.Code `json:"code"`
	Reason string    `json:"reason"`
	Hint   string    `json:"hint"`
}

// String describes the record with its place.
func (r Rejected) String() string {
	place := fmt.Sprintf("line %d: ", r.Line)
	if r.File != "" {
		place = r.File + ": " + place
	}
	return place + r.Reason
}

// NewRejected describes a record that an import leaves out.
func NewRejected(r records.Reject) Rejected {
	return Rejected{r.File, r.Line, onto.CodeOf(r.Err), r.Reason(), onto.HintOf(r.Err).String()}
}

// NewImport describes what an import did, or would do.
func NewImport(out *records.Outcome, dryRun bool) Import {
	doc := Import{
		DryRun: dryRun, Records: out.Records, Inserts: out.Inserts, Updates: out.Updates, Unchanged: out.Unchanged,
		Deletes: out.Deletes, Skipped: out.Skipped, Conflicts: out.Conflicts, Repeated: out.Repeated, Untracked: out.Untracked,
		Rejected: out.Rejected, Emptied: out.Emptied, First: []Conflict{}, Rejects: []Rejected{},
	}
	if out.Result.Changed() {
		doc.CommitID = &out.Result.ID
	}
	for _, x := range out.First {
		doc.First = append(doc.First, Conflict{x.File, x.Line, NewIdentity(x.Identity), x.Reason})
	}
	return doc
}

// Export is what an export did.
type Export struct {
	Output   string `json:"output"`
	Records  int64  `json:"records"`
	CommitID int64  `json:"commit_id"` // the moment
}
