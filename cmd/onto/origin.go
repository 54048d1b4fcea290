package main

import (
	"strconv"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// origin is the part of a row that tells which commit it comes from.
type origin struct {
	CommitID  int64   `json:"commit_id"`
	CreatedAt string  `json:"created_at"`
	Actor     *string `json:"actor"`
	Comment   *string `json:"comment"`

	commit onto.Commit
}

func newOrigin(commit onto.Commit) origin {
	return origin{
		CommitID: commit.ID, CreatedAt: codec.FormatTime(commit.Time),
		Actor: orNull(commit.Actor.String()), Comment: orNull(commit.Comment), commit: commit,
	}
}

// when is the cells for the columns commit and time.
func (o origin) when() []string {
	return []string{strconv.FormatInt(o.CommitID, 10), showTime(o.commit.Time)}
}

// who is the cells for the columns actor and comment.
func (o origin) who() []string {
	return []string{o.commit.Actor.String(), o.commit.Comment}
}
