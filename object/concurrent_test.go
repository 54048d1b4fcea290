package object_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/effort"
	"github.com/ontologia/onto/object"
)

// act is one operation of a concurrent history: on the message a, or in a transaction on a and b.
type act struct {
	op       string
	id       MessageID
	from, to int64
}

// outcome is what came of it.
type outcome struct {
	code   onto.Code
	values [2]int64 // what was read or left; -1 for what does not exist
}

// pair is the state of the messages a and b of a chat; -1 for what does not exist.
type pair [2]int64

func (p pair) with(i int, value int64) pair { p[i] = value; return p }

// step tells whether an outcome is possible, and the state after it.
func (p pair) step(a act, o outcome) (bool, pair) {
	i := 0
	if a.id == "b" {
		i = 1
	}
	exists := p[i] >= 0
	switch a.op {
	case "read":
		if !exists {
			return o.code == onto.NotFound, p
		}
		return o.code == "" && o.values[0] == p[i], p
	case "list":
		return o.code == "" && o.values == p, p
	case "insert":
		if exists {
			return o.code == onto.Conflict, p
		}
		return o.code == "", p.with(i, a.to)
	case "upsert":
		return o.code == "", p.with(i, a.to)
	case "delete":
		return o.code == "", p.with(i, -1)
	case "mutate":
		if !exists {
			return o.code == onto.NotFound, p
		}
		return o.code == "" && o.values[0] == p[i]+a.to, p.with(i, p[i]+a.to)
	case "safe":
		switch {
		case !exists:
			return o.code == onto.NotFound, p
		case p[i] != a.from:
			return o.code == onto.VersionMismatch, p
		}
		return o.code == "", p.with(i, a.to)
	case "tx": // moves from a to b what a has; makes what does not exist
		if o.code != "" || o.values != p {
			return false, p
		}
		return true, pair{0, max(p[0], 0) + max(p[1], 0) + a.to}
	case "deleteWhere":
		next, n := p, int64(0)
		for j := range p {
			if p[j] > a.to {
				next[j] = -1
				n++
			}
		}
		return o.code == "" && o.values[0] == n, next
	}
	panic(a.op)
}

// What goroutines of two programs do at once could have been done in turn.
func TestConcurrentHistories(t *testing.T) {
	for seed := range effort.Seeds(t, 60) {
		both := twoVaults(t, layout{"sqlite", 2})
		const clients, rounds = 5, 12
		var mu sync.Mutex
		var history []porcupine.Operation
		start := time.Now()
		var running sync.WaitGroup
		for client := range clients {
			running.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(client)))
				for range rounds {
					a := act{op: pick(r, []string{"read", "read", "list", "insert", "upsert", "delete", "mutate", "mutate", "safe", "tx", "tx", "deleteWhere"}),
						id: pick(r, []MessageID{"a", "b"}), from: int64(r.IntN(3)), to: int64(r.IntN(3))}
					began := time.Since(start)
					o := a.do(t.Context(), both[client%2])
					ended := time.Since(start)
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: client, Input: a, Output: o, Call: began.Nanoseconds(), Return: ended.Nanoseconds()})
					mu.Unlock()
				}
			})
		}
		running.Wait()
		model := porcupine.Model{
			Init: func() any { return pair{-1, -1} },
			Step: func(state, input, output any) (bool, any) { return state.(pair).step(input.(act), output.(outcome)) },
		}
		if !porcupine.CheckOperations(model, history) {
			for _, op := range history {
				t.Logf("client %d, %d to %d: %+v gave %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
			}
			t.Fatalf("seed %d: no order of the operations explains the outcomes", seed)
		}
	}
}

// do does what it says on the messages of a chat.
func (a act) do(ctx context.Context, tenant program) (o outcome) {
	const chat = "c"
	m := Message{ID: a.id, Chat: chat, Sent: a.to}
	var err error
	switch a.op {
	case "read":
		var got Message
		got, err = tenant.SelectByID(ctx, a.id, chat)
		o.values[0] = got.Sent
	case "list":
		o.values, err = valuesOf(tenant.SelectAll(ctx, chat))
	case "insert":
		err = tenant.Insert(ctx, m)
	case "upsert":
		err = tenant.Upsert(ctx, m)
	case "delete":
		err = tenant.Delete(ctx, m.DBKey())
	case "mutate":
		var got Message
		got, err = tenant.Mutate(ctx, m.DBKey(), func(m *Message) error { m.Sent += a.to; return nil })
		o.values[0] = got.Sent
	case "safe":
		from := m
		from.Sent = a.from
		err = tenant.SafeUpdate(ctx, from, m)
	case "tx":
		err = tenant.Tx(ctx, chat, func(tx *object.Tx) error {
			set := object.In(tx, tenant.set)
			list, err := set.Select(ctx, nil)
			if err == nil {
				o.values, err = valuesOf(list, nil)
			}
			if err != nil {
				return err
			}
			sum := max(o.values[0], 0) + max(o.values[1], 0) + a.to
			return set.Upsert(ctx, Message{ID: "a", Chat: chat}, Message{ID: "b", Chat: chat, Sent: sum})
		})
	case "deleteWhere":
		o.values[0], err = tenant.DeleteWhere(ctx, object.Where().Key("sent").GreaterThan(a.to), chat)
	}
	if o.code = onto.CodeOf(err); err != nil && o.code == "" {
		o.code = onto.Code(err.Error())
	}
	if o.code != "" {
		o.values = [2]int64{}
	}
	return o
}

// valuesOf is what the messages a and b have.
func valuesOf(list []Message, err error) ([2]int64, error) {
	values := [2]int64{-1, -1}
	for _, m := range list {
		values[map[MessageID]int{"a": 0, "b": 1}[m.ID]] = m.Sent
	}
	return values, err
}

// Many goroutines of two programs count together: nothing is lost, and nothing is counted twice.
func TestCountTogether(t *testing.T) {
	both := twoVaults(t, layout{"sqlite", 2})
	if err := both[0].Insert(t.Context(), Message{ID: "a", Chat: "c"}); err != nil {
		t.Fatal(err)
	}
	const clients, rounds = 6, 20
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for i := range rounds {
				ctx := object.With(t.Context(), onto.Draft{IdempotencyKey: fmt.Sprint(client, " ", i)})
				for range 2 {
					if _, err := both[client%2].Mutate(ctx, object.KeyOf[MessageID, ChatID]("a", "c"), func(m *Message) error { m.Sent++; return nil }); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	running.Wait()
	m, err := both[1].SelectByID(t.Context(), "a")
	if err != nil || m.Sent != clients*rounds {
		t.Errorf("counted to %d, %v", m.Sent, err)
	}
	n := 0
	for _, err := range both[0].History(t.Context(), m.DBKey()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != clients*rounds+1 {
		t.Errorf("there are %d revisions", n)
	}
}
