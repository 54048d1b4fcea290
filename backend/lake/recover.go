package lake

import (
	"context"
	"errors"

	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// HeadRecovery is a plan to make the head of a lake again, or what came of it.
type HeadRecovery = protocol.Recovery

// RecoverHead makes the head of a lake again that is lost, damaged, older than its log, or that
// of another store: one that leads to the newest commit which the manifests prove. Without
// apply it only plans. Where nothing tells which of several rounds was the last, attempt names
// one; otherwise it is "". It fails with Conflict if the head is the newest, and with Refused
// if nothing tells and apply is set. It closes the bucket in the end.
//
// Programs that have the lake open go on with the new head, unless they have seen a commit that
// it does not lead to: their calls fail, as they do after a bucket was restored.
func RecoverHead(ctx context.Context, b bucket.Bucket, opts *Options, attempt string, apply bool) (_ *HeadRecovery, err error) {
	set := Options{}
	if opts != nil {
		set = *opts
	}
	set.unread, set.Target = true, true // a head that is made again may be that of a target
	l, err := Open(ctx, b, &set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	plan, err := l.log.PlanRecovery(ctx, attempt)
	if err == nil && apply {
		_, err = l.log.Recover(ctx, plan)
	}
	return plan, err
}
