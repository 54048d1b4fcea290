package document

import (
	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/internal/codec"
)

// Info describes a store.
type Info struct {
	Backend  string        `json:"backend"`
	Location string        `json:"location"`
	Format   int           `json:"format"`
	StoreID  string        `json:"store_id"`
	Head     Head          `json:"head"`
	Bytes    int64         `json:"bytes"`
	Types    []Type        `json:"types"`
	Schemas  []Schema      `json:"schemas,omitempty"`
	Restores []Restoration `json:"restores,omitempty"`
	Warnings []string      `json:"warnings"`

	IndexWarning string `json:"last_index_warning,omitempty"` // why indexes of a lake could not be written
}

// Restoration is one restore of the store.
type Restoration struct {
	Time    string  `json:"restored_at"`
	Actor   *string `json:"actor"`
	Comment *string `json:"comment"`
	Before  int64   `json:"before_commit_id"`
	Head    int64   `json:"after_commit_id"`
	Lost    int64   `json:"lost_commits"`
	Kept    *string `json:"kept"`
}

// Type is what is stored of a type. The counts are there on demand.
type Type struct {
	TypeName
	Version  int    `json:"schema_version_id"`
	Live     *int64 `json:"live,omitempty"`
	Versions *int64 `json:"versions,omitempty"`
}

// NewInfo describes a store, with the counts of its types if stats is set.
func NewInfo(info backend.Info, head onto.Commit, stats bool) Info {
	doc := Info{
		Backend: info.Backend, Location: info.Location, Format: info.Format, StoreID: info.StoreID,
		Bytes: info.Bytes, Types: []Type{}, Warnings: orEmpty(info.Warnings),
	}
	for _, r := range info.Restores {
		one := Restoration{Time: codec.FormatTime(r.Time), Comment: OrNull(r.Comment), Before: r.Before, Head: r.Head, Lost: r.Lost, Kept: OrNull(r.Kept)}
		if r.Actor != (onto.Actor{}) {
			one.Actor = OrNull(r.Actor.String())
		}
		doc.Restores = append(doc.Restores, one)
	}
	if head.ID != 0 {
		doc.Head = NewHead(head)
	}
	for _, t := range info.Types {
		r := Type{TypeName: TypeName{t.Kind, t.Name}, Version: t.Version}
		if stats {
			r.Live, r.Versions = &t.Live, &t.Versions
		}
		doc.Types = append(doc.Types, r)
	}
	return doc
}

// Lease is a lease.
type Lease struct {
	Name       string  `json:"name"`
	Owner      string  `json:"owner"`
	Epoch      int64   `json:"epoch"`
	AcquiredAt *string `json:"acquired_at"`
	ExpiresAt  *string `json:"expires_at"`
	Purpose    *string `json:"purpose"`         // migration
	Note       *string `json:"note"`            // how far its holder is
	State      string  `json:"state,omitempty"` // held or expired; not of a record
}

// NewLease describes a lease. State is "" in the record of one that was ended.
func NewLease(l onto.Lease, state string) Lease {
	return Lease{l.Name, l.Owner, l.Epoch, storedTime(l.Acquired), storedTime(l.Expires), OrNull(string(l.Purpose)), OrNull(l.Note), state}
}

// LeaseBreak is the record of a lease that was ended by force.
type LeaseBreak struct {
	Lease
	BrokenAt  *string `json:"broken_at"`
	RuntimeID *string `json:"runtime_id"`
	Actor     *string `json:"actor"`
	Reason    *string `json:"reason"`
}

// NewLeaseBreak describes such a record.
func NewLeaseBreak(b onto.LeaseBreak) LeaseBreak {
	return LeaseBreak{NewLease(b.Lease, ""), storedTime(b.Time), OrNull(b.Runtime), OrNull(b.Actor.String()), OrNull(b.Reason)}
}

// Backup describes a backup.
type Backup struct {
	File    string `json:"file"`
	Head    Head   `json:"head"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Checked bool   `json:"checked"`
}

// Restore is what a restore has done or would do.
type Restore struct {
	File     string  `json:"file"`
	Location string  `json:"location"`
	Applied  bool    `json:"applied"`
	Backup   Moment  `json:"backup"`
	Present  *Moment `json:"present"` // null if there was no store
	Shared   int64   `json:"shared_commit_id"`
	Lost     int64   `json:"lost_commits"`
	Kept     *string `json:"kept"` // where the present store is kept
}

// Moment is a store at its newest commit.
type Moment struct {
	StoreID string `json:"store_id"`
	Head    Head   `json:"head"`
}

// Rebuilt is the result of a rebuild of a projection.
type Rebuilt struct {
	Identities int64   `json:"identities"`
	Checksum   *string `json:"checksum"` // null if none is kept
	CommitID   *int64  `json:"commit_id"`
}
