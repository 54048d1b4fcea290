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

// Recovery is the head of a lake that can be made again, or was.
type Recovery struct {
	Found     string      `json:"found"`
	StoreID   string      `json:"store_id"`
	Commit    int64       `json:"commit_id"`
	Attempt   string      `json:"attempt_name"`
	Catalog   string      `json:"catalog"`
	Rounds    []LastRound `json:"last_rounds"` // that could be the last one
	Undecided bool        `json:"undecided"`
	Damaged   []string    `json:"damaged,omitempty"`
	Lost      int64       `json:"lost_commits"`
	Copying   string      `json:"unfinished_copy_of,omitempty"` // the store that an unfinished copy is of
	Applied   bool        `json:"applied"`
}

// LastRound is a round of commits that no other one follows.
type LastRound struct {
	Attempt string  `json:"attempt_name"`
	First   int64   `json:"first_commit_id"`
	Commit  int64   `json:"commit_id"`
	Time    string  `json:"created_at"`
	Runtime *string `json:"runtime_id"`
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
