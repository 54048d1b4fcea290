package object

import (
	"context"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/filter"
)

// ShardOf returns the shard of a tenant that stores a thing. For an entity whose key is that of
// an object this follows from the key, and no other shard has to be there. Other things are
// looked for on all shards: one that exists, or did once, on several is a Conflict.
func (v *Vaults) ShardOf(ctx context.Context, vault, tenant string, id onto.Identity) (Shard, error) {
	t, err := v.tenant(vault, tenant)
	if err != nil {
		return Shard{}, err
	}
	l, err := t.opened(ctx)
	if err != nil {
		return Shard{}, err
	}
	if len(l.shards) == 0 {
		return Shard{}, t.isDown(l.down)
	}
	var s *shard
	rule, err := l.ruleOf(id)
	switch {
	case err != nil && len(l.down) > 0:
		err = t.isDown(l.down)
	case err == nil && rule != nil:
		s, err = l.byKey(t, rule, id)
	case err == nil:
		s, err = l.search(ctx, t, id)
	}
	if err != nil {
		return Shard{}, err
	}
	return s.shown(), nil
}

// ruleOf returns the rule of the key of an entity, or nil, as the first shard says that has the type.
func (l *layout) ruleOf(id onto.Identity) (rule *onto.Compute, err error) {
	for _, s := range l.shards {
		var schema onto.Schema
		if schema, err = s.store.Type(id.Type); err == nil {
			return schema.ComputedKey(), nil
		}
	}
	return nil, err
}

// byKey returns the shard that the key of an object leads to.
func (l *layout) byKey(t *tenant, rule *onto.Compute, id onto.Identity) (*shard, error) {
	sharded := strings.Contains(id.Key, "/")
	switch {
	case rule.Sharded() && !sharded:
		return nil, onto.Errorf(onto.Invalid, "%s is no key of a %s: it is made of the shard key and the id", id.Key, id.Type).
			WithHint("write SHARDKEY/ID, where the shard key is %s and the id is %s; by the id alone it is found so", rule.ShardKey, rule.ID).
			WithCommand("query", "entities", id.Type, "--where", filter.Format(onto.Path(strings.Split(rule.ID, ".")...).Eq(id.Key)))
	case !rule.Sharded() && sharded:
		return nil, onto.Errorf(onto.Invalid, "%s is no key of a %s: that is its %s", id.Key, id.Type, rule.ID).WithHint("write %%2F for a / in it, and %%25 for a %%")
	}
	shardKey, _, err := onto.KeyParts(id.Key)
	if err != nil {
		return nil, err
	}
	list, up := l.of([]string{shardKey})
	if !up {
		return nil, t.isDown(l.down)
	}
	if !list[0].has(id.Type) { // nothing of it was stored there yet
		return nil, onto.Errorf(onto.NotFound, "%s: %s does not exist and never did", list[0], id)
	}
	return list[0], nil
}

// search returns the only shard that has versions of a thing.
func (l *layout) search(ctx context.Context, t *tenant, id onto.Identity) (*shard, error) {
	if len(l.down) > 0 {
		return nil, t.isDown(l.down)
	}
	var found *shard
	for _, s := range l.shards {
		if !s.has(id.Type) {
			continue
		}
		for _, err := range s.store.History(ctx, id) {
			switch {
			case onto.CodeOf(err) == onto.NotFound:
			case err != nil:
				return nil, s.explain(err)
			case found != nil:
				return nil, t.wrong("%s is on %s and on %s", id, found, s).WithHint("ask the store of one of them by itself")
			default:
				found = s
			}
			break
		}
	}
	if found == nil {
		return nil, onto.Errorf(onto.NotFound, "tenant %s of vault %s: %s does not exist and never did", t.name, t.vault, id)
	}
	return found, nil
}
