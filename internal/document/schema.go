package document

import (
	"encoding/json"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

// TypeName names a type: what it is a type of, and its name.
type TypeName struct {
	Kind onto.Kind `json:"kind"`
	Type string    `json:"type"`
}

// NewTypeName names a type.
func NewTypeName(t onto.TypeName) TypeName { return TypeName{t.Kind, t.Name} }

// Init is what the registration of types does or did.
type Init struct {
	Location   string     `json:"location"`
	Created    bool       `json:"created"` // the storage is new
	DryRun     bool       `json:"dry_run"`
	Registered []TypeName `json:"registered"`
	Retuned    []TypeName `json:"retuned"` // other marks for index or search
	Unchanged  []TypeName `json:"unchanged"`

	Folds []FoldVersion `json:"folds"` // that are new, or have a new version
}

// FoldVersion names a version of a fold.
type FoldVersion struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Changes reports whether there is something to do.
func (d *Init) Changes() bool {
	return d.Created || len(d.Registered)+len(d.Retuned)+len(d.Folds) > 0
}

// Schema is one version of a type.
type Schema struct {
	TypeName
	Version int             `json:"schema_version_id"`
	Hash    string          `json:"schema_hash"`
	Schema  json.RawMessage `json:"schema"`
}

// NewSchema describes a version of a type.
func NewSchema(v onto.SchemaVersion) Schema {
	return Schema{NewTypeName(v.Schema.TypeName()), v.Version, v.Hash, v.Schema.JSON()}
}

// SchemaVersion tells when a version of a type was registered.
type SchemaVersion struct {
	TypeName
	Version   int     `json:"schema_version_id"`
	Hash      string  `json:"schema_hash"`
	CreatedAt string  `json:"created_at"`
	RuntimeID *string `json:"runtime_id"`
	Reason    *string `json:"reason"`
	Actor     *string `json:"actor"`
	Comment   *string `json:"comment"`
	Since     int64   `json:"since_commit_id"` // the first commit that can hold rows of it
	Upgrader  *string `json:"upgrader"`        // how fields of the version before become its own
	End       *string `json:"end"`             // how the type came to its end

	LearnedAt      *string `json:"learned_at"` // if the upgrader was given later
	LearnedRuntime *string `json:"learned_runtime_id"`
	LearnedActor   *string `json:"learned_actor"`
	LearnedComment *string `json:"learned_comment"`

	EndedAt    *string `json:"ended_at"` // with its end
	EndRuntime *string `json:"end_runtime_id"`
	EndActor   *string `json:"end_actor"`
	EndComment *string `json:"end_comment"`

	Purge *Purge `json:"purge"` // null if it was not purged
}

// Purge tells how the history of a type was removed.
type Purge struct {
	PurgedAt  string  `json:"purged_at"`
	Versions  int64   `json:"versions"`
	RuntimeID *string `json:"runtime_id"`
	Actor     *string `json:"actor"`
	Comment   *string `json:"comment"`
}

// NewSchemaVersion tells when a version of a type was registered.
func NewSchemaVersion(v onto.SchemaVersion) SchemaVersion {
	doc := SchemaVersion{
		TypeName: NewTypeName(v.Schema.TypeName()), Version: v.Version, Hash: v.Hash,
		CreatedAt: codec.FormatTime(v.Created), RuntimeID: OrNull(v.Runtime), Reason: OrNull(v.Reason),
		Actor: OrNull(v.Actor.String()), Comment: OrNull(v.Comment),
		Since: v.Since, Upgrader: OrNull(UpgraderText(v.Upgrader)), End: OrNull(EndText(v.End)),
	}
	if l := v.Learned; l != nil {
		at := codec.FormatTime(l.Time)
		doc.LearnedAt, doc.LearnedRuntime, doc.LearnedActor, doc.LearnedComment = &at, OrNull(l.Runtime), OrNull(l.Actor.String()), OrNull(l.Comment)
	}
	if e := v.End; e != nil {
		at := codec.FormatTime(e.Time)
		doc.EndedAt, doc.EndRuntime, doc.EndActor, doc.EndComment = &at, OrNull(e.Runtime), OrNull(e.Actor.String()), OrNull(e.Comment)
		if p := e.Purge; p != (onto.Purge{}) {
			doc.Purge = &Purge{codec.FormatTime(p.Time), p.Versions, OrNull(p.Runtime), OrNull(p.Actor.String()), OrNull(p.Comment)}
		}
	}
	return doc
}

// UpgraderText says how fields became those of a version.
func UpgraderText(u *onto.StoredUpgrader) string {
	switch {
	case u == nil:
		return ""
	case u.Func:
		return "a Go function"
	case u.RenamedFrom != "" && u.Program != "":
		return "renamed from " + u.RenamedFrom + ", then " + u.Program
	case u.RenamedFrom != "":
		return "renamed from " + u.RenamedFrom
	case u.Program == "":
		return "as they are"
	}
	return u.Program
}

// EndText says how a type has ended.
func EndText(e *onto.End) string {
	switch {
	case e == nil:
		return ""
	case e.RenamedTo != "":
		return fmt.Sprintf("renamed to %s by commit %d", e.RenamedTo, e.Commit)
	case e.Purged:
		return fmt.Sprintf("purged before commit %d", e.Commit)
	}
	return fmt.Sprintf("dropped by commit %d", e.Commit)
}

// Compared is a type of a schema file, of a store or of both, and how they compare.
type Compared struct {
	TypeName
	Status  string   `json:"status"`            // same, different, only in the file, only stored
	Version *int     `json:"schema_version_id"` // null if it is not stored, and of a fold
	Fold    *int     `json:"version,omitempty"` // of a fold that is stored
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
}

// NewCompared describes a type that is only on one side.
func NewCompared(s onto.Schema, status string) Compared {
	return Compared{TypeName: NewTypeName(s.TypeName()), Status: status, Added: []string{}, Removed: []string{}, Changed: []string{}}
}

// Differ sets how the type that is stored differs from the one of the file.
func (c *Compared) Differ(d onto.Difference) {
	c.Status = "same"
	if !d.Empty() {
		c.Status = "different"
	}
	c.Added, c.Removed, c.Changed = orEmpty(d.Added), orEmpty(d.Removed), orEmpty(d.Changed)
}

// Plan is the plan of a migration.
type Plan struct {
	Head           int64      `json:"head_commit_id"`
	Types          []TypePlan `json:"types"`
	NeedsUpgraders []string   `json:"needs_upgraders"` // steps that have none
	SchemaOnly     []string   `json:"schema_only"`     // types of which nothing is written anew
	Token          string     `json:"token"`
}

// TypePlan is the change of one type.
type TypePlan struct {
	TypeName
	RenamedFrom *string    `json:"renamed_from"`
	FromVersion int        `json:"from_schema_version_id"` // 0 if the type is new
	ToVersion   int        `json:"to_schema_version_id"`
	Added       []string   `json:"added"`
	Removed     []string   `json:"removed"`
	Changed     []string   `json:"changed"`
	Live        int64      `json:"live"`
	Rewrite     bool       `json:"rewrite"`
	Steps       []StepPlan `json:"steps"`
	Learned     []int      `json:"learned_schema_version_ids"`
}

// StepPlan is how fields of one version become those of the next.
type StepPlan struct {
	Step       string  `json:"step"`
	How        string  `json:"how"`
	Missing    *string `json:"missing"`
	Suggestion *string `json:"suggestion"`
	Unfit      []Unfit `json:"unfit,omitempty"` // the first things that do not fit
}

// Unfit is a thing that does not fit the type that a migration brings.
type Unfit struct {
	Identity
	Reason string `json:"reason"`
}

// NewPlan describes the plan of a migration.
func NewPlan(p *store.MigrationPlan) Plan {
	doc := Plan{Head: p.Head, Types: []TypePlan{}, NeedsUpgraders: []string{}, SchemaOnly: []string{}, Token: p.Token}
	for i := range p.Types {
		t := &p.Types[i]
		doc.Types = append(doc.Types, newTypePlan(t))
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

func newTypePlan(t *store.TypeMigration) TypePlan {
	doc := TypePlan{
		TypeName: TypeName{t.Kind, t.Name}, RenamedFrom: OrNull(t.RenamedFrom), FromVersion: t.From, ToVersion: t.To,
		Added: orEmpty(t.Difference.Added), Removed: orEmpty(t.Difference.Removed), Changed: orEmpty(t.Difference.Changed),
		Live: t.Live, Rewrite: t.Rewrite, Steps: []StepPlan{}, Learned: orEmpty(t.Learned),
	}
	for _, s := range t.Steps {
		step := StepPlan{s.Name, s.How, OrNull(s.Missing), OrNull(s.Suggest), nil}
		for _, u := range s.Unfit {
			step.Unfit = append(step.Unfit, Unfit{NewIdentity(u.Identity), u.Problem})
		}
		doc.Steps = append(doc.Steps, step)
	}
	return doc
}

// Migrated is the result of a migration.
type Migrated struct {
	Result
	Types []TypePlan `json:"types"`
}

// NewMigrated describes the result of a migration.
func NewMigrated(r onto.Result, p *store.MigrationPlan) Migrated {
	return Migrated{NewResult(r), NewPlan(p).Types}
}

// Drop is the plan of a drop.
type Drop struct {
	Head       int64      `json:"head_commit_id"`
	Types      []DropType `json:"types"`
	Dependents []string   `json:"dependents"` // types of relations and facts that keep it from being dropped
	Purge      bool       `json:"purge_history"`
	Token      string     `json:"token"`
}

// DropType is how much there is of a type that is dropped.
type DropType struct {
	TypeName
	Live     int64 `json:"live"`
	Versions int64 `json:"versions"`
}

// NewDrop describes the plan of a drop.
func NewDrop(p *store.DropPlan) Drop {
	doc := Drop{Head: p.Head, Types: []DropType{}, Dependents: orEmpty(p.Dependents), Purge: p.Purge, Token: p.Token}
	for _, t := range p.Types {
		doc.Types = append(doc.Types, DropType{TypeName{t.Kind, t.Name}, t.Live, t.Versions})
	}
	return doc
}

// Dropped is the result of a drop.
type Dropped struct {
	Result
	Drop
}

// NewDropped describes the result of a drop.
func NewDropped(r onto.Result, p *store.DropPlan) Dropped { return Dropped{NewResult(r), NewDrop(p)} }
