package backendtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/backendtest"
)

// busMutants lists mistakes with events and claims.
func busMutants() []mutant {
	return []mutant{
		{"claims are not fenced", "bus traffic", onBus(func(b *postman) {
			b.meant = func(ctx context.Context, c onto.Claim) onto.Claim {
				if s, ok := b.present(ctx, &c); ok {
					c.Session, c.Claimed = s.Session, s.Claimed
				}
				return c
			}
		})},
		{"claims are fenced by their session alone", "bus traffic", onBus(func(b *postman) {
			b.meant = func(ctx context.Context, c onto.Claim) onto.Claim {
				if s, ok := b.present(ctx, &c); ok && s.Session == c.Session {
					c.Claimed = s.Claimed
				}
				return c
			}
		})},
		{"claims are fenced by their time alone", "bus traffic", onBus(func(b *postman) {
			b.meant = func(ctx context.Context, c onto.Claim) onto.Claim {
				if s, ok := b.present(ctx, &c); ok && s.Claimed.Equal(c.Claimed) {
					c.Session = s.Session
				}
				return c
			}
		})},
		{"a claim is lost when its lease ends", "bus traffic", onBus(func(b *postman) {
			b.meant = func(ctx context.Context, c onto.Claim) onto.Claim {
				if s, ok := b.present(ctx, &c); ok && !s.Until.After(b.place.Now()) {
					c.Session = "nobody"
				}
				return c
			}
		})},
		{"a released claim is still held", "bus traffic", onBus(stillHeld)},
		{"a lease is not honoured", "bus traffic", onBus(func(b *postman) {
			b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
				short := *r
				short.Lease = 0
				got, err := b.Bus.Claim(ctx, &short)
				for i := range got.Claims {
					got.Claims[i].Until = got.Claims[i].Claimed.Add(r.Lease)
				}
				return got, err
			}
		})},
		{"a claim does not say that one was lost", "bus traffic", onBus(func(b *postman) {
			b.each = func(c *onto.Claim) { c.Lost = false }
		})},
		{"every further claim says that one was lost", "bus traffic", onBus(func(b *postman) {
			b.each = func(c *onto.Claim) { c.Lost = c.Lost || c.Attempts > 0 }
		})},
		{"priorities are ignored", "bus traffic", onBus(byArrival)},
		{"settlements come after claims", "bus traffic", onBus(func(b *postman) {
			b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
				first := *r
				first.Settle = nil
				got, err := b.Bus.Claim(ctx, &first)
				if err == nil {
					got.Verdicts, err = b.Bus.Settle(ctx, r.Settle)
				}
				return got, err
			}
		})},
		{"a claim of nothing asks for nothing", "bus traffic", onBus(func(b *postman) {
			b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
				if r.Limit > 0 {
					return b.Bus.Claim(ctx, r)
				}
				verdicts, err := b.Bus.Settle(ctx, r.Settle)
				return backend.Claimed{Verdicts: verdicts}, err
			}
		})},
		{"a claim does not tell when to come back", "bus traffic", onBus(func(b *postman) {
			b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
				got, err := b.Bus.Claim(ctx, r)
				got.Next = time.Time{}
				return got, err
			}
		})},
		{"attempts are not stored", "bus traffic", onBus(func(b *postman) { b.edit = func(s *backend.Settlement) { s.Attempts = 0 } })},
		{"a start is not stored", "bus traffic", onBus(func(b *postman) {
			b.edit = func(s *backend.Settlement) {
				if s.Do == backend.Start {
					s.Deliveries = 0
				}
			}
		})},
		{"the delay of a retry is ignored", "bus traffic", onBus(func(b *postman) { b.edit = func(s *backend.Settlement) { s.Delay = 0 } })},
		{"a return is a failure", "bus traffic", onBus(func(b *postman) {
			b.edit = func(s *backend.Settlement) {
				if s.Do == backend.Return {
					s.Do = backend.Release
				}
			}
		})},
		{"the notice of a dead letter is not emitted", "bus traffic", onBus(func(b *postman) { b.edit = func(s *backend.Settlement) { s.Notice = nil } })},
		{"a notice is emitted though the claim was lost", "bus traffic", onBus(loudNotice)},
		{"a dead letter is resolved twice", "bus traffic", onBus(func(b *postman) {
			b.emit = func(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
				list, err := b.Bus.Emit(ctx, e)
				if errors.Is(err, onto.Conflict) {
					return b.Bus.Emit(ctx, &backend.Emission{Events: e.Events, Tick: e.Tick})
				}
				return list, err
			}
		})},
		{"dead letters are resolved in part", "bus traffic", onBus(func(b *postman) {
			b.emit = func(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
				for _, r := range e.Resolve {
					if _, err := b.Bus.Emit(ctx, &backend.Emission{Resolve: []backend.DeadLetterEnd{r}}); err != nil {
						return nil, err
					}
				}
				return b.Bus.Emit(ctx, &backend.Emission{Events: e.Events, Tick: e.Tick})
			}
		})},
		{"a tick fires twice", "bus traffic", onBus(func(b *postman) {
			b.emit = func(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
				list, err := b.Bus.Emit(ctx, e)
				if err == nil && e.Tick != nil && len(list) == 0 && len(e.Events) > 0 {
					return b.Bus.Emit(ctx, &backend.Emission{Events: e.Events, Resolve: e.Resolve})
				}
				return list, err
			}
		})},
		{"a beat does not extend leases", "bus traffic", onBus(func(b *postman) {
			b.beat = func(ctx context.Context, beat *backend.Beat) ([]onto.Claim, error) {
				var lost []onto.Claim
				for _, c := range beat.Claims {
					if !beat.End && !b.holds(ctx, c) {
						lost = append(lost, c)
					}
				}
				quiet := *beat
				quiet.Claims = nil
				_, err := b.Bus.Beat(ctx, &quiet)
				return lost, err
			}
		})},
		{"dead sessions count as alive", "bus traffic", onBus(func(b *postman) { b.ttl = func(time.Duration) time.Duration { return 0 } })},
		{"a session dies too early by a moment", "bus", onBus(func(b *postman) {
			b.ttl = func(ttl time.Duration) time.Duration { return max(0, ttl-time.Microsecond) }
		})},
		{"a beat does not tell what was lost", "bus traffic", onBus(func(b *postman) {
			b.beat = func(ctx context.Context, beat *backend.Beat) ([]onto.Claim, error) {
				_, err := b.Bus.Beat(ctx, beat)
				return nil, err
			}
		})},
		{"cleaning removes what is unhandled", "bus traffic", onBus(func(b *postman) { b.tidy = func(c *backend.Cleaning) { c.Unhandled = true } })},
		{"cleaning removes too much by a moment", "bus traffic", onBus(func(b *postman) {
			b.tidy = func(c *backend.Cleaning) { c.Before = c.Before.Add(time.Microsecond) }
		})},
		{"types of removed events are forgotten", "bus", onBus(func(b *postman) {
			b.types = func(ctx context.Context, namespace string) (left []string, err error) {
				list, err := b.Bus.Namespaces(ctx, 0)
				for _, n := range list {
					for _, t := range n.Types {
						if n.Name == namespace {
							left = append(left, t.Name)
						}
					}
				}
				return left, err
			}
		})},
		{"cleaning forgets nothing", "bus traffic", onBus(func(b *postman) { b.tidy = func(c *backend.Cleaning) { c.Forget = nil } })},
		{"a plan is applied", "bus traffic", onBus(func(b *postman) { b.tidy = func(c *backend.Cleaning) { c.Apply = true } })},
		{"the write lease stops claims", "bus", onBus(func(b *postman) {
			b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
				leases, _ := backend.As[backend.Leaser](b.Backend)
				held, err := leases.Leases(ctx)
				if err == nil && len(held) > 0 && held[0].Name == onto.WriteLease {
					return backend.Claimed{}, onto.Errorf(onto.LockContention, "the write lease is held")
				}
				return b.Bus.Claim(ctx, r)
			}
		})},
		{"a cancelled call is made", "bus traffic", onBus(func(b *postman) {
			b.settle = func(ctx context.Context, list []backend.Settlement) ([]error, error) {
				return b.Bus.Settle(context.WithoutCancel(ctx), list)
			}
		})},
		{"answers of the bus are shared", "bus", onBus(func(b *postman) {
			var kept sync.Map // from the id of an event to its payload
			b.show = func(e *onto.Event) {
				payload, _ := kept.LoadOrStore(e.ID, e.Payload)
				e.Payload = payload.(json.RawMessage)
			}
		})},
		{"a watcher returns the mark that it was given", "bus", around(func(b backend.Backend) blindWatcher { return blindWatcher{through{b}} })},
	}
}

// postman is a bus that can be got wrong.
type postman struct {
	through
	backend.Bus
	place *backendtest.Place

	meant func(context.Context, onto.Claim) onto.Claim // what a claim that is handed in is taken for
	edit  func(*backend.Settlement)
	each  func(*onto.Claim) // of a claim
	show  func(*onto.Event)
	tidy  func(*backend.Cleaning)
	ttl   func(time.Duration) time.Duration // of sessions
	types func(context.Context, string) ([]string, error)

	emit   func(context.Context, *backend.Emission) ([]onto.Event, error)
	claim  func(context.Context, *backend.ClaimRequest) (backend.Claimed, error)
	settle func(context.Context, []backend.Settlement) ([]error, error)
	beat   func(context.Context, *backend.Beat) ([]onto.Claim, error)
	draft  func(context.Context, *backend.Draft, sending) (result, error)
}

// sending appends a draft in the way that the caller chose.
type sending func(*backend.Draft) (result, error)

// onBus plants a mistake into a bus.
func onBus(spoil func(*postman)) planting {
	return wrapped(func(b backend.Backend, p *backendtest.Place) backend.Backend { return newPostman(b, p, spoil) })
}

func newPostman(b backend.Backend, p *backendtest.Place, spoil func(*postman)) *postman {
	bus, _ := backend.As[backend.Bus](b)
	m := &postman{through: through{b}, Bus: bus, place: p, emit: bus.Emit, claim: bus.Claim, settle: bus.Settle, beat: bus.Beat, types: bus.Types}
	m.meant = func(_ context.Context, c onto.Claim) onto.Claim { return c }
	m.edit, m.each, m.show, m.tidy = func(*backend.Settlement) {}, func(*onto.Claim) {}, func(*onto.Event) {}, func(*backend.Cleaning) {}
	m.draft = func(_ context.Context, d *backend.Draft, send sending) (result, error) { return send(d) }
	m.ttl = func(ttl time.Duration) time.Duration { return ttl }
	spoil(m)
	return m
}

func (b *postman) Emit(ctx context.Context, e *backend.Emission) ([]onto.Event, error) {
	return b.emit(ctx, e)
}

func (b *postman) Claim(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
	c := *r
	c.Settle = b.edited(ctx, r.Settle)
	got, err := b.claim(ctx, &c)
	for i := range got.Claims {
		b.each(&got.Claims[i])
		b.show(&got.Claims[i].Event)
	}
	return got, err
}

func (b *postman) Settle(ctx context.Context, list []backend.Settlement) ([]error, error) {
	return b.settle(ctx, b.edited(ctx, list))
}

func (b *postman) edited(ctx context.Context, list []backend.Settlement) []backend.Settlement {
	var edited []backend.Settlement
	for _, s := range list {
		s.Claim = b.meant(ctx, s.Claim)
		b.edit(&s)
		edited = append(edited, s)
	}
	return edited
}

func (b *postman) Beat(ctx context.Context, beat *backend.Beat) ([]onto.Claim, error) {
	return b.beat(ctx, beat)
}

func (b *postman) Clean(ctx context.Context, c *backend.Cleaning, progress func(done, total int64)) (backend.CleanPlan, error) {
	edited := *c
	b.tidy(&edited)
	return b.Bus.Clean(ctx, &edited, progress)
}

func (b *postman) Types(ctx context.Context, namespace string) ([]string, error) {
	return b.types(ctx, namespace)
}

func (b *postman) Namespaces(ctx context.Context, ttl time.Duration) ([]backend.Namespace, error) {
	return b.Bus.Namespaces(ctx, b.ttl(ttl))
}

func (b *postman) Events(ctx context.Context, q *backend.EventQuery) iter.Seq2[backend.EventState, error] {
	return func(yield func(backend.EventState, error) bool) {
		for e, err := range b.Bus.Events(ctx, q) {
			b.show(&e.Event)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (b *postman) Append(ctx context.Context, d *backend.Draft) (result, error) {
	return b.draft(ctx, b.acking(ctx, d), func(d *backend.Draft) (result, error) { return b.Backend.Append(ctx, d) })
}

func (b *postman) AppendStream(ctx context.Context, d *backend.Draft, w writes) (result, error) {
	return b.draft(ctx, b.acking(ctx, d), func(d *backend.Draft) (result, error) { return b.Backend.AppendStream(ctx, d, w) })
}

func (b *postman) acking(ctx context.Context, d *backend.Draft) *backend.Draft {
	c := *d
	c.Acks = nil
	for _, a := range d.Acks {
		c.Acks = append(c.Acks, b.meant(ctx, a))
	}
	return &c
}

// present returns what has become of a claim by now.
func (b *postman) present(ctx context.Context, c *onto.Claim) (onto.ClaimState, bool) {
	for e, err := range b.Bus.Events(ctx, &backend.EventQuery{ID: c.ID}) {
		for _, s := range e.Claims {
			if err == nil && s.Handler == c.Handler {
				return s, true
			}
		}
	}
	return onto.ClaimState{}, false
}

// holds reports whether a claim is held: a draft that acks it, and cannot be committed,
// is refused for another reason.
func (b *postman) holds(ctx context.Context, c onto.Claim) bool {
	return b.refusal(ctx, &backend.Draft{Acks: []onto.Claim{c}}) == nil
}

// refusal is why acks and positions of a draft are refused, or nil.
func (b *postman) refusal(ctx context.Context, d *backend.Draft) error {
	_, err := b.Backend.Append(ctx, &backend.Draft{Acks: d.Acks, Advance: d.Advance, Expect: []onto.Expectation{{Head: true, Commit: -9}}})
	if errors.Is(err, onto.HeadMismatch) {
		return nil
	}
	return err
}

// stillHeld says that all is well with claims that were released and not taken again.
func stillHeld(b *postman) {
	released := func(ctx context.Context, c *onto.Claim) bool {
		s, ok := b.present(ctx, c)
		return ok && s.Session == c.Session && s.Claimed.Equal(c.Claimed) && s.Acked.IsZero() && s.Dead.IsZero()
	}
	b.settle = func(ctx context.Context, list []backend.Settlement) ([]error, error) {
		verdicts, err := b.Bus.Settle(ctx, list)
		for i := range verdicts {
			if released(ctx, &list[i].Claim) {
				verdicts[i] = nil
			}
		}
		return verdicts, err
	}
}

// byArrival claims everything there is, and returns what came last.
func byArrival(b *postman) {
	b.claim = func(ctx context.Context, r *backend.ClaimRequest) (backend.Claimed, error) {
		all := *r
		all.Limit = 1000
		got, err := b.Bus.Claim(ctx, &all)
		return b.keepOnly(ctx, r, got, func(x, y *onto.Claim) int { return x.Time.Compare(y.Time) }, nil), err
	}
}

// loudNotice emits the notice of a settlement that is refused.
func loudNotice(b *postman) {
	b.settle = func(ctx context.Context, list []backend.Settlement) ([]error, error) {
		verdicts, err := b.Bus.Settle(ctx, list)
		for i, v := range verdicts {
			if v != nil && list[i].Notice != nil {
				if _, err := b.Bus.Emit(ctx, &backend.Emission{Events: []backend.NewEvent{*list[i].Notice}}); err != nil {
					return nil, err
				}
			}
		}
		return verdicts, err
	}
}

type blindWatcher struct{ through }

func (b blindWatcher) Await(ctx context.Context, mark int64) (int64, error) {
	if mark != 0 {
		return mark, ctx.Err()
	}
	w, _ := backend.As[backend.Watcher](b.Backend)
	return w.Await(ctx, mark)
}
