package document

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/upkeep"
)

// About is what a finding is about, as far as that is known.
type About struct {
	*TypeName
	Keys
}

func newAbout(id onto.Identity) About {
	var doc About
	if id.Type == "" {
		return doc
	}
	name := NewTypeName(id.TypeName())
	doc.TypeName = &name
	if id != (onto.Identity{Kind: id.Kind, Type: id.Type}) {
		doc.Keys = NewKeys(id)
	}
	return doc
}

// Finding is a finding of a check.
type Finding struct {
	Shard    *string       `json:"shard,omitempty"` // of a tenant: its name, or its place if that is not known
	Code     string        `json:"code"`
	Severity onto.Severity `json:"severity"`
	About
	Message string   `json:"message"`
	Remedy  string   `json:"remedy"`            // with the command, as people read it
	Command []string `json:"command,omitempty"` // of the remedy, as arguments
}

// NewFinding describes a finding. The remedy may name the store.
func NewFinding(f onto.Finding, remedy onto.Hint) Finding {
	return Finding{nil, f.Code, f.Severity, newAbout(f.About), f.Message, remedy.String(), Command(remedy)}
}

// Explained is a finding with its explanation.
type Explained struct {
	Finding
	Explanation string `json:"explanation"`
}

// FindingGroup is findings of one kind about one type. Message and remedy are those of the
// first.
type FindingGroup struct {
	Explained
	Count    int64     `json:"count"`
	Examples []Example `json:"examples"` // the first few
}

// Example is one finding of a group.
type Example struct {
	About
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"` // if it is another than that of the first
	Command []string `json:"command,omitempty"`
}

// NewFindingGroup describes a group, with remedies that may name the store.
func NewFindingGroup(g *upkeep.Group, named func(onto.Hint) onto.Hint) FindingGroup {
	first := g.Examples[0]
	doc := FindingGroup{Explained: Explained{NewFinding(first, named(first.Remedy)), first.Explanation}, Count: g.Count}
	doc.About = newAbout(onto.Identity{Kind: g.About.Kind, Type: g.About.Name})
	for _, f := range g.Examples {
		example := Example{About: newAbout(f.About), Message: f.Message}
		if remedy := named(f.Remedy); remedy.String() != doc.Remedy {
			example.Remedy, example.Command = remedy.String(), Command(remedy)
		}
		doc.Examples = append(doc.Examples, example)
	}
	return doc
}

// FindingCode is what is known in general about findings with a code.
type FindingCode struct {
	Code        string        `json:"code"`
	Severity    onto.Severity `json:"severity"`
	Explanation string        `json:"explanation"`
	Remedy      string        `json:"remedy"`
	Command     []string      `json:"command,omitempty"`
}

// Probed is one check of a bucket.
type Probed struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Seen    string `json:"seen"`
	Meaning string `json:"meaning"`
}
