package main

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

func diffCommand(c *command) *cobra.Command {
	var typ, where string
	var asStored bool
	cmd := &cobra.Command{
		Use:   "diff FROM TO",
		Short: "Show what changed between two moments",
		Long: `Show what differs between two moments, the earlier first. A moment is a commit
id, head, a date or a time, in UTC unless it says otherwise. What changed and
changed back does not differ, and neither does what only a migration changed:
both moments are shown as the present types have them, or with --as-stored as
they were written.

--where, which needs --type, shows only what the filter is true for before or
after. How filters are written: onto query --help`,
		Example: `  onto diff 12 head
  onto diff 2026-02-01 2026-03-01 --type Customer --where '$.tier == "Gold"'
  onto diff 0 1 --json`,
		Args: argCount(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return diff(cmd.Context(), c, args[0], args[1], store.DiffQuery{Type: typ, AsStored: asStored}, where)
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "only this type")
	cmd.Flags().StringVar(&where, "where", "", "only what this `FILTER` is true for before or after; needs --type")
	cmd.Flags().BoolVar(&asStored, "as-stored", false, asStoredUsage)
	return cmd
}

func diff(ctx context.Context, c *command, first, second string, q store.DiffQuery, where string) error {
	from, err := parsePoint(first)
	if err != nil {
		return err
	}
	to, err := parsePoint(second)
	if err != nil {
		return err
	}
	q.From, q.To = from, to
	if where != "" {
		if q.Where, err = parseWhere(where); err != nil {
			return err
		}
		if q.Type == "" {
			return onto.Errorf(onto.Invalid, "--where needs --type").WithHint("say which type the filter is about")
		}
	}
	return c.withStore(ctx, place.Reading, func(s *store.Store) error {
		changes := s.Diff(ctx, q)
		if !c.JSON {
			return printChanges(c, changes)
		}
		out := c.Array()
		if err := each(changes, func(change onto.Change) error { return out.Add(document.NewDifference(change)) }); err != nil {
			return err
		}
		return out.Close()
	})
}

// fieldsOf is the fields of a live version, or nil.
func fieldsOf(v *onto.Version) json.RawMessage {
	if v == nil || !v.Live() {
		return nil
	}
	return v.Fields
}

// printChanges prints changes for people: what came, what went, and of what
// changed the fields that did.
func printChanges(c *command, changes iter.Seq2[onto.Change, error]) error {
	none := true
	err := each(changes, func(change onto.Change) error {
		none = false
		return printChange(c, change)
	})
	if err == nil && none {
		c.Say("no differences")
	}
	return err
}

func printChange(c *command, change onto.Change) error {
	before, after := fieldsOf(change.Before), fieldsOf(change.After)
	name := showIdentity(change.Identity)
	switch change.Operation() {
	case onto.Insert:
		return c.Out.Line("%s  %s", c.Out.Paint(terminal.Green, "+ "+name), terminal.Escape(string(after)))
	case onto.Removal:
		return c.Out.Line("%s  %s", c.Out.Paint(terminal.Red, "- "+name), terminal.Escape(string(before)))
	}
	if err := c.Out.Line("%s", c.Out.Paint(terminal.Yellow, "~ "+name)); err != nil {
		return err
	}
	lines, err := changedFields(before, after)
	if err != nil {
		return onto.Errorf(onto.Corrupt, "%s: %w", change.Identity, err)
	}
	for _, f := range lines {
		if err := c.Out.Line("    %s", terminal.Escape(f)); err != nil {
			return err
		}
	}
	return nil
}

// changedFields describes each top-level field that differs.
func changedFields(before, after []byte) (lines []string, err error) {
	old, err := membersOf(before)
	if err != nil {
		return nil, err
	}
	now, err := membersOf(after)
	if err != nil {
		return nil, err
	}
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].Name < now[0].Name:
			lines = append(lines, old[0].Name+": "+string(old[0].Value)+" → none")
			old = old[1:]
		case len(old) == 0 || now[0].Name < old[0].Name:
			lines = append(lines, now[0].Name+": none → "+string(now[0].Value))
			now = now[1:]
		default:
			if !bytes.Equal(old[0].Value, now[0].Value) {
				lines = append(lines, now[0].Name+": "+string(old[0].Value)+" → "+string(now[0].Value))
			}
			old, now = old[1:], now[1:]
		}
	}
	return lines, nil
}
