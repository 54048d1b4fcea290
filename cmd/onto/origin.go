package main

import (
	"strconv"

	"github.com/ontologia/onto"
)

// when is the cells for the columns commit and time.
func when(c onto.Commit) []string { return []string{strconv.FormatInt(c.ID, 10), showTime(c.Time)} }

// who is the cells for the columns actor and comment.
func who(c onto.Commit) []string { return []string{c.Actor.String(), c.Comment} }
