package care

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/refusal"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/store"
)

// Lock is the verb lock: leases, and ending one by force.
func Lock(c *session.Session) *cobra.Command {
	return session.Group("lock", "Show leases, or end one by force", `  onto lock show
  onto lock release --force --reason "the job has died"`,
		lockShowCommand(c), lockReleaseCommand(c))
}

func lockShowCommand(c *session.Session) *cobra.Command {
	var breaks bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "List who holds which lease",
		Long: `List the leases that were taken and not released. One that has run out stays
its holder's until somebody takes it. Who holds ` + onto.WriteLease + ` keeps everybody
else from committing. A migration and a drop tell in a note how far they are. With
--breaks, list those that were ended by force.`,
		Example: `  onto lock show
  onto lock show --breaks --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if breaks {
				return showBreaks(cmd.Context(), c)
			}
			return showLeases(cmd.Context(), c)
		},
	}
	cmd.Flags().BoolVar(&breaks, "breaks", false, "list the records of leases that were ended by force")
	return cmd
}

func lockReleaseCommand(c *session.Session) *cobra.Command {
	var r lockRelease
	cmd := &cobra.Command{
		Use:   "release --force --reason TEXT",
		Short: "End a lease, whatever its holder",
		Long: `End a lease, whatever its holder, and keep a record of that. Its holder, if it still
runs, cannot use the lease any more. Without --force it only says who that is.`,
		Example: `  onto lock release
  onto lock release --force --reason "the job has died" --actor operator:ana
  onto lock release --name nightly --force --reason "wrong machine"`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.hasActor = cmd.Flags().Changed("actor")
			return releaseLock(cmd.Context(), c, r)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.force, "force", false, "end it although it is held")
	flags.StringVar(&r.name, "name", onto.WriteLease, "the lease called `NAME`")
	flags.StringVar(&r.reason, "reason", "", "why, a `TEXT` for people")
	flags.StringVar(&r.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote")
	return cmd
}

func showLeases(ctx context.Context, c *session.Session) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		leases, err := s.Leases(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		state := func(l onto.Lease) string {
			if l.Expired(now) {
				return "expired"
			}
			return "held"
		}
		out := terminal.Rows(c.Printer, terminal.WholeColumns("name", "owner", "epoch", "acquired", "expires", "state", "note"),
			func(l onto.Lease) document.Lease { return document.NewLease(l, state(l)) },
			func(l onto.Lease) ([]string, error) {
				return []string{l.Name, l.Owner, strconv.FormatInt(l.Epoch, 10), terminal.Time(l.Acquired), terminal.Time(l.Expires), state(l), l.Status()}, nil
			})
		for _, l := range leases {
			if err := out.Add(l); err != nil {
				return err
			}
		}
		return out.Close("no lease is held")
	})
}

func showBreaks(ctx context.Context, c *session.Session) error {
	return c.WithStore(ctx, place.Reading, func(s *store.Store) error {
		breaks, err := s.LeaseBreaks(ctx)
		if err != nil {
			return err
		}
		out := terminal.Rows(c.Printer, append(terminal.WholeColumns("broken", "name", "owner", "epoch", "actor"), terminal.Columns("reason")...), document.NewLeaseBreak, breakCells)
		for _, b := range breaks {
			if err := out.Add(b); err != nil {
				return err
			}
		}
		return out.Close("no lease was ended by force")
	})
}

func breakCells(b onto.LeaseBreak) ([]string, error) {
	l := b.Lease
	return []string{terminal.Time(b.Time), l.Name, l.Owner, strconv.FormatInt(l.Epoch, 10), b.Actor.String(), b.Reason}, nil
}

// lockRelease is which lease to end, and why.
type lockRelease struct {
	name, reason, actor string
	force, hasActor     bool
}

func releaseLock(ctx context.Context, c *session.Session, r lockRelease) error {
	var actor onto.Actor
	if r.hasActor {
		var err error
		if actor, err = onto.ParseActor(r.actor); err != nil {
			return err
		}
	}
	if err := onto.CheckLeaseName(r.name); err != nil {
		return err
	}
	if r.force && r.reason == "" {
		return onto.Errorf(onto.Invalid, "--reason is missing").WithHint("say why the lease is ended, for readers of the record")
	}
	how := place.Reading
	if r.force {
		how = place.Writing
	}
	return c.WithStore(ctx, how, func(s *store.Store) error {
		if !r.force {
			return refuseRelease(ctx, s, r.name)
		}
		record, err := s.BreakLease(ctx, r.name, actor, r.reason)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Document(document.NewLeaseBreak(record))
		}
		l := record.Lease
		return c.Out.Line("released %s, which %s held until %s", l.Name, terminal.Escape(l.Owner), terminal.Time(l.Expires))
	})
}

// refuseRelease names the holder of a lease.
func refuseRelease(ctx context.Context, s *store.Store, name string) error {
	leases, err := s.Leases(ctx)
	if err != nil {
		return err
	}
	for _, l := range leases {
		if l.Name != name {
			continue
		}
		command := []string{"lock", "release", "--force", "--reason", "TEXT"}
		if name != onto.WriteLease {
			command = slices.Insert(command, 2, "--name", name)
		}
		until := terminal.Time(l.Expires)
		if status := l.Status(); status != "" {
			until += ": " + status
		}
		return onto.Errorf(onto.Refused, "the lease %s is held by %s until %s", l.Name, l.Owner, until).
			WithHint("make sure that it has stopped, then end the lease").WithCommand(command...)
	}
	return refusal.NotHeld(name)
}
