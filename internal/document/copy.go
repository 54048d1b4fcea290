package document

import "github.com/ontologia/onto/archive"

// Copy is what a copy has done or would do.
type Copy struct {
	Source  string `json:"source_location"`
	Target  string `json:"target_location"`
	Applied bool   `json:"applied"`

	Origin   string     `json:"origin"`
	Until    int64      `json:"until_commit_id"`
	Shared   int64      `json:"shared_commit_id"`
	Resumes  bool       `json:"resumes"`
	Types    int        `json:"type_versions"`
	Commits  int64      `json:"commit_count"`
	Versions int64      `json:"versions"`
	Bytes    int64      `json:"bytes"`
	Scratch  int64      `json:"scratch_bytes"`
	Notes    []CopyNote `json:"notes"`
	Sum      *string    `json:"sum"` // null for a plan
}

// CopyNote counts something that a copy does not have, or has otherwise.
type CopyNote struct {
	Code  string `json:"code"`
	Of    string `json:"about"`
	Count int64  `json:"count"`
}

// NewCopy describes a plan.
func NewCopy(source, target string, p *archive.Plan) Copy {
	doc := Copy{
		Source: source, Target: target, Origin: p.Origin, Until: p.Until, Shared: p.Shared, Resumes: p.Resumes, Types: p.Types,
		Commits: p.Commits, Versions: p.Versions, Bytes: p.Bytes, Scratch: p.Scratch, Notes: []CopyNote{},
	}
	for _, n := range p.Notes {
		doc.Notes = append(doc.Notes, CopyNote{string(n.Code), n.Of, n.Count})
	}
	return doc
}

// CopyComparison is how a copy compares with its source.
type CopyComparison struct {
	Source     string  `json:"source_location"`
	Target     string  `json:"target_location"`
	Equal      bool    `json:"equal"`
	Commit     int64   `json:"compared_until"`
	SourceHead int64   `json:"source_head"`
	TargetHead int64   `json:"target_head"`
	Sum        *string `json:"sum"`
	TypesSum   *string `json:"types_sum"`
	Difference *string `json:"difference"`
}

// NewCopyComparison describes a comparison.
func NewCopyComparison(source, target string, c *archive.Comparison) CopyComparison {
	doc := CopyComparison{Source: source, Target: target, Equal: c.First == nil, Commit: c.Commit, SourceHead: c.Source, TargetHead: c.Target}
	if c.Sum != "" {
		doc.Sum = &c.Sum
	}
	if c.Types != "" {
		doc.TypesSum = &c.Types
	}
	if c.First != nil {
		text := c.First.String()
		doc.Difference = &text
	}
	return doc
}
