package care

import (
	"context"
	"errors"
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/audit"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/terminal"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/upkeep"
)

// shardsSeen is how many shards were looked at, of so many.
type shardsSeen struct{ examined, of int }

func (s shardsSeen) String() string {
	all := terminal.Count(s.of, "shard", "shards")
	if s.examined == s.of {
		return all
	}
	return fmt.Sprintf("%d of %s", s.examined, all)
}

// examineTenant examines the shards of a tenant one after the other, and how they fit together.
func (d *doctor) examineTenant(ctx context.Context) error {
	if d.checkpoint || d.acceptLoss {
		return onto.Errorf(onto.Invalid, "--checkpoint and --accept-loss change one store").
			WithHint("name the store of a shard with --storage-uri; these are the shards").WithCommand("shard", "status")
	}
	return d.WithTenant(ctx, place.Reading, func(t session.Tenant) error {
		y, err := t.Survey(ctx, t.Vault, t.Name)
		if err == nil {
			err = y.Close() // each is opened again to be examined
		}
		if err != nil {
			return err
		}
		found := newFindings(d.Session, d.all)
		seen := shardsSeen{of: len(y.Shards)}
		for i := range y.Shards {
			examined, err := d.examineShard(ctx, t, i, &y.Shards[i], found)
			if err != nil {
				found.stop()
				return err
			}
			if examined {
				seen.examined++
			}
		}
		if y.Err != nil {
			f := upkeep.Explain(audit.BucketsUnowned.Finding("%s", document.Message(y.Err)))
			if err := errors.Join(found.turn(nil, d.NameIn), found.add(f)); err != nil {
				return err
			}
		}
		return d.conclude(found, seen)
	})
}

// examineShard examines the store of a shard, if there is one, and reports whether it has. A
// store that cannot be examined is a finding, and no error.
func (d *doctor) examineShard(ctx context.Context, t session.Tenant, i int, s *object.SurveyedShard, found *findings) (bool, error) {
	if err := found.turn(&s.Shard, d.NameIn); err != nil {
		return false, err
	}
	code, wrong := map[object.ShardState]audit.Fault{
		object.ShardDown: audit.ShardDown, object.ShardNotMade: audit.ShardNotMade,
		object.ShardOverlapping: audit.ShardOverlapping, object.ShardStranger: audit.ShardStranger,
	}[s.State]
	if wrong {
		if err := found.add(upkeep.Explain(code.Finding("%s", document.Message(s.Err)))); err != nil {
			return false, err
		}
	}
	if s.State == object.ShardNotMade {
		return false, nil
	}
	cfg, err := d.Configure()
	if err != nil {
		return false, err
	}
	loc, err := place.ParseURI(t.URIs[i])
	if err != nil {
		return false, err
	}
	if err := found.turn(&s.Shard, loc.NameIn); err != nil {
		return false, err
	}
	switch _, err = d.examineAt(ctx, place.Reading, loc, cfg, found); {
	case err == nil:
		return true, nil
	case onto.CodeOf(err) == "": // the command was interrupted, or its output cannot be written
		return false, err
	case s.State == object.ShardDown:
		return false, nil
	}
	return false, found.add(upkeep.Explain(audit.ShardDown.Finding("%s", document.Message(err))))
}
