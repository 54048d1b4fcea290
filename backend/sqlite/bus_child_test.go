package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/sqlite"
)

// busWorker is a child process that does one thing with events again and again, and
// prints a line for everything that was acknowledged.
type busWorker struct {
	b     *sqlite.Backend
	name  string
	lease time.Duration
	made  int // emissions
}

// workOnBus is the job of a child: path, what it does, its name, its lease, and if it is
// to kill itself the point and how often that is passed.
func workOnBus(args []string) error {
	return repeat(args, func(b *sqlite.Backend, lease time.Duration) func(context.Context) error {
		w := &busWorker{b: b, name: args[2], lease: lease}
		return map[string]func(context.Context) error{"emit": w.emit, "claim": w.claimSome, "settle": w.settleSome, "commit with ack": w.commitSome}[args[1]]
	})
}

// repeat does what a child is told again and again, until its input ends.
func repeat(args []string, choose func(b *sqlite.Backend, lease time.Duration) func(context.Context) error) error {
	lease, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	b, err := sqlite.Open(ctx, args[0], nil)
	if err != nil {
		return err
	}
	defer b.Close()
	if len(args) > 4 {
		left, err := strconv.Atoi(args[5])
		if err != nil {
			return err
		}
		b.CallAt(args[4], func() {
			if left--; left < 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		})
	}
	do := choose(b, lease)
	for ctx.Err() == nil {
		if err := do(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// emit emits two or more events, every other one with a key.
func (w *busWorker) emit(ctx context.Context) error {
	w.made++
	e := &backend.Emission{}
	for i := range 2 + w.made%9 {
		key := "-"
		if i%2 == 1 {
			key = fmt.Sprint("k", w.made%3)
		}
		e.Events = append(e.Events, newEvent(fmt.Sprintf("%s-%d-%d T %s", w.name, w.made, i, key)))
	}
	if _, err := w.b.Emit(ctx, e); err != nil {
		return err
	}
	_, err := fmt.Printf("emitted %s-%d- %d\n", w.name, w.made, len(e.Events))
	return err
}

// claim claims a few events, and emits more if there are none.
func (w *busWorker) claim(ctx context.Context) ([]onto.Claim, error) {
	got, err := w.b.Claim(ctx, &backend.ClaimRequest{Namespace: "n", Handler: "h", Types: []string{"T"}, Session: w.name, Limit: 4, Lease: w.lease})
	if err == nil && len(got.Claims) == 0 {
		err = w.emit(ctx)
	}
	for _, c := range got.Claims {
		if _, err := fmt.Printf("claimed %s %s\n", c.ID, w.name); err != nil {
			return nil, err
		}
	}
	return got.Claims, err
}

func (w *busWorker) claimSome(ctx context.Context) error {
	_, err := w.claim(ctx)
	return err
}

// settleSome settles claims in every way.
func (w *busWorker) settleSome(ctx context.Context) error {
	claims, err := w.claim(ctx)
	if err != nil {
		return err
	}
	var list []backend.Settlement
	var words []string
	for i, c := range claims {
		s := backend.Settlement{Claim: c, Error: "planted"}
		switch w.made++; {
		case w.made%7 == 0:
			n := newEvent("notice-" + c.ID + " " + onto.DeadLetterType)
			s.Do, s.Notice = backend.Bury, &n
		case w.made%5 == 0:
			s.Do = backend.Return
		case w.made%3 == 0:
			s.Do, s.Attempts = backend.Release, c.Attempts+1
		default:
			s.Do = backend.Ack
		}
		list = append(list, s)
		words = append(words, map[backend.Settling]string{backend.Ack: "acked", backend.Bury: "buried", backend.Return: "returned", backend.Release: "released"}[s.Do]+" "+claims[i].ID+" "+w.name)
	}
	verdicts, err := w.b.Settle(ctx, list)
	if err != nil {
		return err
	}
	for i, v := range verdicts {
		if v == nil {
			fmt.Println(words[i])
		} else if !errors.Is(v, onto.LeaseExpired) {
			return v
		}
	}
	return nil
}

// commitSome handles claims with a commit each: an entity, the ack, and an event that
// rides along.
func (w *busWorker) commitSome(ctx context.Context) error {
	claims, err := w.claim(ctx)
	if err != nil {
		return err
	}
	for _, c := range claims {
		r, err := w.b.Append(ctx, &backend.Draft{
			Writes: []backend.Write{{Identity: onto.EntityID("Thing", c.ID), Op: onto.Put, Fields: fmt.Appendf(nil, `{"id":%q,"n":1}`, c.ID), SchemaVersion: 1}},
			Acks:   []onto.Claim{c}, Events: []backend.NewEvent{newEvent("after-" + c.ID + " After")},
		})
		switch {
		case errors.Is(err, onto.LeaseExpired):
		case err != nil:
			return err
		default:
			fmt.Println("committed", c.ID, w.name, r.ID)
		}
	}
	return nil
}
