package lineage

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
	"github.com/ontologia/onto/internal/computed"
)

// Trace brings a live version to a stage from the one before, and returns for each
// field the field that it has its value from: itself if the step leaves it alone, or
// one that the step gives another name. Values that the step made have none, and fields that
// the store computes are left out.
func (c *Chain) Trace(ctx context.Context, v *onto.Version, stage int, timeout time.Duration) (map[string]string, error) {
	before := *v
	if err := c.Lift(ctx, v, stage, timeout); err != nil {
		return nil, err
	}
	was, err := codec.ParseObject(before.Fields)
	if err != nil {
		return nil, onto.Errorf(onto.Corrupt, "%s at commit %d: its JSON cannot be read: %w", v.Identity, v.Commit, err)
	}
	is, err := codec.ParseObject(v.Fields)
	if err != nil {
		return nil, err
	}
	was = computed.Given(was)
	from := make(map[string]string, len(is))
	for _, m := range computed.Given(is) {
		if p, ok := member(was, m.Name); ok && bytes.Equal(p.Value, m.Value) {
			from[m.Name] = m.Name
			continue
		}
		for i, p := range was {
			if _, stays := member(is, p.Name); stays || !bytes.Equal(p.Value, m.Value) {
				continue
			}
			follows, err := c.follows(ctx, stage, m, slices.Delete(slices.Clone(was), i, i+1), timeout)
			if err != nil {
				return nil, err
			}
			if follows {
				from[m.Name] = p.Name
				break
			}
		}
	}
	return from, nil
}

// follows reports whether a step into a stage cannot make a field's value out of the
// other fields alone: then the value comes from the field that was left out. That
// distinguishes a renamed field from one that happens to have the same value.
func (c *Chain) follows(ctx context.Context, stage int, m codec.Member, others []codec.Member, timeout time.Duration) (bool, error) {
	s := &c.Stages[stage]
	made, err := s.Step.made(ctx, codec.AppendObject(nil, others), timeout)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return true, nil // it needs the field
	}
	text, ok := made.(json.RawMessage)
	if !ok {
		if text, err = codec.AppendValue(nil, reflect.ValueOf(made)); err != nil {
			return true, nil
		}
	}
	members, err := codec.ParseObject(text)
	if err != nil {
		return true, nil
	}
	again, ok := member(members, m.Name)
	return !ok || !bytes.Equal(again.Value, m.Value), nil
}

// member finds a member by its name.
func member(members []codec.Member, name string) (codec.Member, bool) {
	i := slices.IndexFunc(members, func(m codec.Member) bool { return m.Name == name })
	if i < 0 {
		return codec.Member{}, false
	}
	return members[i], true
}
