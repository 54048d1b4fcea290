package document

import "github.com/ontologia/onto/store"

// Fold tells of one fold of a store.
type Fold struct {
	Name    string  `json:"name"`
	Facts   string  `json:"facts"`
	State   string  `json:"state"`
	Version int     `json:"version"`
	Program *string `json:"program"` // null for one that is kept in a Go program

	Behind     *int64  `json:"folded_commit_id"` // the commit up to which all facts are folded; null if all are
	Lag        int64   `json:"lag"`              // commits since
	Rebuilding bool    `json:"rebuilding"`
	Rebuilt    int64   `json:"rebuilt"` // subjects so far
	Unable     *string `json:"unable"`  // why it cannot be carried out here; null if it can
	Error      *string `json:"error"`   // why it could not be brought up to date; null if nothing failed
}

// NewFold describes a fold.
func NewFold(s store.FoldStatus) Fold {
	doc := Fold{
		Name: s.Name, Facts: s.Facts, State: s.State, Version: s.Version, Program: OrNull(s.Program),
		Lag: s.Lag, Rebuilding: s.Rebuilding, Rebuilt: s.Rebuilt, Unable: OrNull(s.Unable),
	}
	if s.Behind != 0 {
		doc.Behind = &s.Behind
	}
	if s.Err != nil {
		doc.Error = OrNull(s.Err.Error())
	}
	return doc
}

// Verified is what the verification of a fold has found.
type Verified struct {
	Name    string  `json:"name"`
	Version int     `json:"version"`
	Status  string  `json:"status"`  // same, different, or not verified
	Message *string `json:"message"` // what differs, or why it was not verified
}

// Refolded is the result of a rebuild of a fold.
type Refolded struct {
	Name   string `json:"name"`
	States int64  `json:"states"` // that there are now
}
