package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/store"
)

func (c *command) lockCommand() *cobra.Command {
	return group("lock", "Show leases, or end one by force", `  onto lock show
  onto lock release --force --reason "the job has died"`,
		c.lockShowCommand(), c.lockReleaseCommand())
}

func (c *command) lockShowCommand() *cobra.Command {
	var breaks bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "List who holds which lease",
		Long: `List the leases that were taken and not released. One that has run out stays
its holder's until somebody takes it. Who holds ` + onto.WriteLease + ` keeps everybody
else from committing. With --breaks, list those that were ended by force.`,
		Example: `  onto lock show
  onto lock show --breaks --json`,
		Args: argCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if breaks {
				return c.showBreaks(cmd.Context())
			}
			return c.showLeases(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&breaks, "breaks", false, "list the records of leases that were ended by force")
	return cmd
}

func (c *command) lockReleaseCommand() *cobra.Command {
	var r lockRelease
	cmd := &cobra.Command{
		Use:   "release --force --reason TEXT",
		Short: "End a lease whoever holds it",
		Long: `End a lease whoever holds it, and keep a record of that. Its holder, if it still
runs, cannot use the lease any more. Without --force it only says who that is.`,
		Example: `  onto lock release
  onto lock release --force --reason "the job has died" --actor operator:ana
  onto lock release --name nightly --force --reason "wrong machine"`,
		Args: argCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.hasActor = cmd.Flags().Changed("actor")
			return c.releaseLock(cmd.Context(), r)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.force, "force", false, "end it although somebody holds it")
	flags.StringVar(&r.name, "name", onto.WriteLease, "the lease called `NAME`")
	flags.StringVar(&r.reason, "reason", "", "why, for people")
	flags.StringVar(&r.actor, "actor", "", "on whose behalf, as `KIND:ID` with operator, component, daemon or remote")
	return cmd
}

// leaseRow is a lease as a row of a list.
type leaseRow struct {
	Name       string  `json:"name"`
	Owner      string  `json:"owner"`
	Epoch      int64   `json:"epoch"`
	AcquiredAt *string `json:"acquired_at"`
	ExpiresAt  *string `json:"expires_at"`
	State      string  `json:"state,omitempty"` // held or expired; not of a record

	lease onto.Lease
}

func newLeaseRow(l onto.Lease) leaseRow {
	return leaseRow{Name: l.Name, Owner: l.Owner, Epoch: l.Epoch, AcquiredAt: storedTime(l.Acquired), ExpiresAt: storedTime(l.Expires), lease: l}
}

// storedTime is a time as it is stored, or null if it is not known.
func storedTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := codec.FormatTime(t)
	return &text
}

func (r leaseRow) cells() ([]string, error) {
	return []string{r.Name, r.Owner, strconv.FormatInt(r.Epoch, 10), showTime(r.lease.Acquired), showTime(r.lease.Expires), r.State}, nil
}

func (c *command) showLeases(ctx context.Context) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		leases, err := s.Leases(ctx)
		if err != nil {
			return err
		}
		out := c.rows(wholeColumns("name", "owner", "epoch", "acquired", "expires", "state"))
		now := time.Now()
		for _, l := range leases {
			row := newLeaseRow(l)
			if row.State = "held"; l.Expired(now) {
				row.State = "expired"
			}
			if err := out.add(row); err != nil {
				return err
			}
		}
		return out.close("nobody holds a lease")
	})
}

// breakRow is the record of a lease that was ended by force.
type breakRow struct {
	leaseRow
	BrokenAt  *string `json:"broken_at"`
	RuntimeID *string `json:"runtime_id"`
	Actor     *string `json:"actor"`
	Reason    *string `json:"reason"`

	record onto.LeaseBreak
}

func newBreakRow(b onto.LeaseBreak) breakRow {
	return breakRow{
		leaseRow: newLeaseRow(b.Lease), BrokenAt: storedTime(b.Time), RuntimeID: orNull(b.Runtime),
		Actor: orNull(b.Actor.String()), Reason: orNull(b.Reason), record: b,
	}
}

func (r breakRow) cells() ([]string, error) {
	b := r.record
	return []string{showTime(b.Time), r.Name, r.Owner, strconv.FormatInt(r.Epoch, 10), b.Actor.String(), b.Reason}, nil
}

func (c *command) showBreaks(ctx context.Context) error {
	return c.withStore(ctx, reading, func(s *store.Store) error {
		breaks, err := s.LeaseBreaks(ctx)
		if err != nil {
			return err
		}
		out := c.rows(append(wholeColumns("broken", "name", "owner", "epoch", "actor"), columns("reason")...))
		for _, b := range breaks {
			if err := out.add(newBreakRow(b)); err != nil {
				return err
			}
		}
		return out.close("no lease was ended by force")
	})
}

// lockRelease is which lease to end, and why.
type lockRelease struct {
	name, reason, actor string
	force, hasActor     bool
}

func (c *command) releaseLock(ctx context.Context, r lockRelease) error {
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
		return onto.Errorf(onto.Invalid, "--reason is missing").WithHint("say why the lease is ended, for whoever reads the record")
	}
	how := reading
	if r.force {
		how = writing
	}
	return c.withStore(ctx, how, func(s *store.Store) error {
		if !r.force {
			return refuseRelease(ctx, s, r.name)
		}
		record, err := s.BreakLease(ctx, r.name, actor, r.reason)
		if err != nil {
			return err
		}
		if c.json {
			return c.document(newBreakRow(record))
		}
		l := record.Lease
		return c.out.line("released %s, which %s held until %s", l.Name, escape(l.Owner), showTime(l.Expires))
	})
}

// refuseRelease says who holds a lease.
func refuseRelease(ctx context.Context, s *store.Store, name string) error {
	leases, err := s.Leases(ctx)
	if err != nil {
		return err
	}
	for _, l := range leases {
		if l.Name != name {
			continue
		}
		flag := ""
		if name != onto.WriteLease {
			flag = " --name " + name
		}
		return onto.Errorf(onto.Refused, "the lease %s is held by %s until %s", l.Name, l.Owner, showTime(l.Expires)).
			WithHint("make sure that it has stopped, then: onto lock release%s --force --reason TEXT", flag)
	}
	return onto.Errorf(onto.NotFound, "nobody holds the lease %s", name).WithHint("see the leases with: onto lock show")
}
