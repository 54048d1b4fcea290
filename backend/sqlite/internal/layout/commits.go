package layout

import (
	"strings"

	"github.com/ontologia/onto/backend/sqlite/internal/driver"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/decide"
)

// VersionSums adds up the checksums of the versions of commits, the first of which is given,
// and whose ids follow each other. It notes the checksum of each version.
func VersionSums(w *driver.Conn, first int64, commits int, versions []decide.Version) []int64 {
	sums := make([]int64, commits)
	for i := range versions {
		v := &versions[i]
		v.Sum, w.Scratch = rowSum(&v.Version, w.Scratch)
		sums[v.Commit-first] += v.Sum
	}
	return sums
}

// The columns of a commit's row, but for its checksum, which is over all of them in this
// order. Most commits have only the first few, and omitted columns need not be bound.
const (
	commitColumnsFew = `id, created_at, operations, runtime_id, actor_kind, actor_id, comment, onto_versions`
	commitColumnsAll = commitColumnsFew + `, metadata_json, causation_id, correlation_id, signature_ref, idempotency_key, draft_hash, onto_events, onto_event_sum`
	commitWidthFew   = 8
	commitWidthAll   = 16
)

// hasFew reports whether a commit has nothing outside commitColumnsFew.
func hasFew(c *decide.Commit) bool {
	return len(c.Metadata) == 0 && c.Causation == 0 && c.Correlation == "" && c.Signature == "" && c.IdempotencyKey == "" && c.Digest == "" && c.Events == 0
}

// InsertCommits writes the rows of commits, given the sums of the checksums of their versions.
func InsertCommits(w *driver.Conn, list []decide.Commit, sums []int64) error {
	args := make([]any, 0, LargeBulk*(commitWidthFew+1))
	for len(list) > 0 {
		n, columns := 1, commitColumnsAll
		if hasFew(&list[0]) {
			for n < len(list) && hasFew(&list[n]) {
				n++
			}
			n, columns = BulkSize(n), commitColumnsFew
		}
		args = args[:0]
		for i := range n {
			args = commitArgs(w, args, &list[i], sums[i])
		}
		if err := w.Exec(commitInsert(columns, n), args...); err != nil {
			return err
		}
		list, sums = list[n:], sums[n:]
	}
	return nil
}

// absent stands for the columns that most commits do not have.
var absent [commitWidthAll - commitWidthFew]any

// commitArgs appends the values of a commit's columns.
func commitArgs(w *driver.Conn, args []any, c *decide.Commit, versions int64) []any {
	from := len(args)
	args = append(args, c.ID, codec.FormatTime(c.Time), c.Operations, OrNull(c.Runtime),
		OrNull(string(c.Actor.Kind)), OrNull(c.Actor.ID), OrNull(c.Comment), versions)
	if hasFew(c) {
		args = append(args, absent[:]...)
		sum := SumOf(&w.Scratch, args[from:])
		return append(args[:from+commitWidthFew], sum)
	}
	args = append(args, OrNull(string(c.Metadata)), OrNull(c.Causation), OrNull(c.Correlation),
		OrNull(c.Signature), OrNull(c.IdempotencyKey), OrNull(c.Digest), OrNull(int64(c.Events)), OrNull(c.EventSum))
	return append(args, SumOf(&w.Scratch, args[from:]))
}

func commitInsert(columns string, n int) string {
	row := "(" + strings.Repeat("?, ", strings.Count(columns, ",")+1) + "?)"
	return "INSERT INTO commits (" + columns + ", onto_sum) VALUES " + strings.Repeat(row+", ", n-1) + row
}

// UpdateCommit writes what became known after the row of a commit was written.
func UpdateCommit(w *driver.Conn, c *decide.Commit, versions int64) error {
	args := commitArgs(w, nil, c, versions)
	return w.Exec(`UPDATE commits SET operations = ?, onto_versions = ?, onto_events = ?, onto_event_sum = ?, onto_sum = ? WHERE id = ?`,
		c.Operations, versions, OrNull(int64(c.Events)), OrNull(c.EventSum), args[len(args)-1], c.ID)
}

// ShrinkCommit takes versions away from a commit that are purged: how many, and the sum of
// their checksums. A checksum that is not right stays as it is.
func ShrinkCommit(w *driver.Conn, id, versions, sum int64) error {
	r, ok, err := w.QueryRow(`SELECT `+commitColumnsAll+`, onto_sum FROM commits WHERE id = ?`, id)
	if err != nil || !ok {
		return err
	}
	const operations, summed = 2, 7 // among the columns
	before := CheckSum(r, commitWidthAll)
	r.Vals[operations], r.Vals[summed] = r.Int(operations)-versions, r.Int(summed)-sum
	if before == SumRight {
		r.Vals[commitWidthAll] = SumOf(r.Scratch, r.Vals[:commitWidthAll])
	}
	return w.Exec(`UPDATE commits SET operations = ?, onto_versions = ?, onto_sum = ? WHERE id = ?`, r.Vals[operations], r.Vals[summed], r.Vals[commitWidthAll], id)
}

// CommitSums is the columns of a commit that its checksum covers, and the checksum.
const (
	CommitSums      = commitColumnsAll + `, onto_sum`
	CommitSumsWidth = commitWidthAll
)
