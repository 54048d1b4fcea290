package document

import "github.com/ontologia/onto"

// Repair is an object of a lake that is not as it should be.
type Repair struct {
	Object  string     `json:"object"`
	Kind    *onto.Kind `json:"kind"` // null if it is about all types
	Type    *string    `json:"type"`
	Before  int        `json:"entries_before"`
	After   int        `json:"entries_after"`
	Reason  string     `json:"reason"`
	Applied bool       `json:"applied"`
}

// Orphan is an object that nothing leads to.
type Orphan struct {
	Object string `json:"object"`
	Reason string `json:"reason"` // abandoned, replaced or purged
	Age    int64  `json:"age_s"`
	Bytes  int64  `json:"bytes"`
}

// Foreign is an object that the store has not written.
type Foreign struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
	Bytes  int64  `json:"bytes"`
}

// Janitor is what a janitor would remove, or has.
type Janitor struct {
	Orphans []Orphan `json:"orphans"`
	Bytes   int64    `json:"bytes"`
	Applied bool     `json:"applied"`
	Removed int      `json:"removed"`

	Foreign []Foreign `json:"foreign,omitempty"` // what the store has not written
}

// Compaction is what a compaction would do, or has done.
type Compaction struct {
	Planned []CompactionItem `json:"planned"`
	Applied bool             `json:"applied"`
	Merged  int              `json:"merged"` // types; fewer than planned if others were faster
}

// CompactionItem is files of one type that become one.
type CompactionItem struct {
	TypeName
	Files int   `json:"files"`
	First int64 `json:"min_commit_id"`
	Last  int64 `json:"max_commit_id"`
	Rows  int64 `json:"row_count"`
	Bytes int64 `json:"bytes"`
}
