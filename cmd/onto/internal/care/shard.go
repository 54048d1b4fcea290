package care

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/object"
)

// Shard is the verb shard: the shards of tenants.
func Shard(c *session.Session) *cobra.Command {
	return session.Group("shard", "Look after the shards of tenants", `  onto shard status --vaults vaults.yaml
  onto shard status --vaults vaults.yaml --tenant acme --json`, shardStatus(c))
}

func shardStatus(c *session.Session) *cobra.Command {
	var stats bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the shards of tenants, and what is wrong with them",
		Long: `Show a row for each shard that the file of vaults lists: of all tenants, or of those
that --vault and --tenant name. Nothing is made or changed. Exit status 3 if anything is
wrong: a state other than open.

  open         the store is a shard of the tenant
  down         it cannot be opened, or its placement cannot be read
  not_made     there is no store, or nothing is in it: onto init makes the shard
  stranger     the store is no shard of this tenant
  overlapping  another shard owns some of its buckets, too, such as a copy of it
  missing      no store, but buckets that no shard of the list owns

Things belong to buckets by their shard keys, and a tenant has 1,024 of them.`,
		Example: `  onto shard status --vaults vaults.yaml
  onto shard status --vaults vaults.yaml --vault chat --tenant acme --stats
  onto shard status --vaults vaults.yaml --json`,
		Args: session.ArgCount(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return showShards(cmd.Context(), c, stats) },
	}
	c.RegisterVaults(cmd.Flags())
	cmd.Flags().BoolVar(&stats, "stats", false, "with how many live things each has, which takes a while")
	return cmd
}

func showShards(ctx context.Context, c *session.Session, stats bool) error {
	columns := terminal.WholeColumns("vault", "tenant", "shard", "state", "buckets", "share", "commit", "time", "size", "location", "problem")
	if stats {
		columns = append(columns, terminal.WholeColumns("live")...)
	}
	out := terminal.Rows(c.Printer, columns, terminal.Itself[document.ShardStatus], func(d document.ShardStatus) ([]string, error) { return statusCells(d, stats), nil })
	rows, wrong, unmade := 0, 0, 0
	add := func(d document.ShardStatus) error {
		rows++
		if d.Problem != nil {
			wrong++
		}
		if d.State == object.ShardNotMade {
			unmade++
		}
		return out.Add(d)
	}
	err := c.WithTenants(ctx, place.Reading, func(tenants []session.Tenant) error {
		for _, t := range tenants {
			if err := statusOf(ctx, t, stats, add); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Close("the file names no tenants"); err != nil || wrong == 0 {
		return err
	}
	failed := onto.Errorf(document.CheckFailed, "something is wrong with %d of %s", wrong, terminal.Count(rows, "row", "rows"))
	if unmade == wrong {
		return failed.WithHint("make the shards that are not made").WithCommand("init")
	}
	return failed.WithHint("the column problem says what; look into the stores as well").WithCommand("doctor")
}

// statusOf adds the rows of a tenant.
func statusOf(ctx context.Context, t session.Tenant, stats bool, add func(document.ShardStatus) error) (err error) {
	y, err := t.Survey(ctx, t.Vault, t.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	for i := range y.Shards {
		s := &y.Shards[i]
		doc := document.NewShardStatus(t.Vault, t.Name, s)
		if s.Store != nil {
			measure(ctx, &doc, t.URIs[i], s, stats)
		}
		if err := add(doc); err != nil {
			return err
		}
	}
	if y.Err == nil {
		return nil
	}
	return add(document.NewUnowned(t.Vault, t.Name, y))
}

// measure fills in the head and the size of a shard. That these cannot be read is a problem of it.
func measure(ctx context.Context, doc *document.ShardStatus, uri string, s *object.SurveyedShard, stats bool) {
	head, err := s.Store.Head(ctx)
	if err == nil {
		h := document.NewHead(head)
		doc.Head = &h
		err = weighShard(ctx, doc, uri, s.Store.Backend(), stats)
	}
	if err != nil && doc.Problem == nil {
		text := document.Message(err)
		doc.Problem, doc.State = &text, object.ShardDown
	}
}

// weighShard fills in the size of a shard, if its backend tells, and how many live things it has.
func weighShard(ctx context.Context, doc *document.ShardStatus, uri string, b backend.Backend, stats bool) error {
	loc, err := place.ParseURI(uri)
	if err != nil {
		return err
	}
	if _, tells := backend.As[backend.Describer](b); !tells && !stats {
		return nil
	}
	info, err := loc.Describe(ctx, b, stats)
	if err != nil {
		return err
	}
	if info.Bytes != 0 {
		doc.Bytes = &info.Bytes
	}
	if stats {
		var live int64
		for _, t := range info.Types {
			live += t.Live
		}
		doc.Live = &live
	}
	return nil
}

// statusCells is a row of the table.
func statusCells(d document.ShardStatus, stats bool) []string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	cells := []string{d.Vault, d.Tenant, text(d.Shard), string(d.State), strconv.Itoa(d.Buckets), fmt.Sprintf("%.1f%%", 100*d.Share), "", "", "", text(d.Location), text(d.Problem)}
	if d.Head != nil {
		cells[6], cells[7] = strconv.FormatInt(d.Head.CommitID, 10), text(d.Head.CreatedAt)
	}
	if d.Bytes != nil {
		cells[8] = terminal.Bytes(*d.Bytes)
	}
	if stats {
		live := ""
		if d.Live != nil {
			live = strconv.FormatInt(*d.Live, 10)
		}
		cells = append(cells, live)
	}
	return cells
}
