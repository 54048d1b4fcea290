package object_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
	"github.com/ontologia/onto/store"
)

type messages = object.Tenant[Message, MessageID, ChatID]

// operation is one operation on the messages of a tenant. What it does with a key, it does with
// that of a message.
type operation struct {
	keyed  bool // the message matters
	writes bool
	run    func(ctx context.Context, set *messageSet, tenant messages, m Message) error
}

func drain[V any](items iter.Seq2[V, error]) error {
	for _, err := range items {
		if err != nil {
			return err
		}
	}
	return nil
}

// inTx makes a transaction of one call.
func inTx(call func(context.Context, object.TxSet[Message, MessageID, ChatID], Message) error) func(context.Context, *messageSet, messages, Message) error {
	return func(ctx context.Context, set *messageSet, tenant messages, m Message) error {
		return tenant.Tx(ctx, m.Chat, func(tx *object.Tx) error { return call(ctx, object.In(tx, set), m) })
	}
}

// tenantOperations are all methods of a tenant, by their names.
var tenantOperations = map[string]operation{
	"AsOf": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.AsOf(time.Now()).SelectAll(ctx)
		return err
	}},
	"Select": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.Select(ctx, nil)
		return err
	}},
	"SelectWithMetadata": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.SelectWithMetadata(ctx, nil)
		return err
	}},
	"SelectAll": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.SelectAll(ctx)
		return err
	}},
	"SelectAllWithMetadata": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.SelectAllWithMetadata(ctx)
		return err
	}},
	"SelectByID": {true, false, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		_, err := t.SelectByID(ctx, m.ID, m.Chat)
		return err
	}},
	"SelectByIDWithMetadata": {true, false, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		_, err := t.SelectByIDWithMetadata(ctx, m.ID, m.Chat)
		return err
	}},
	"Exists": {true, false, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		_, err := t.Exists(ctx, m.ID, m.Chat)
		return err
	}},
	"Count": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.Count(ctx, nil)
		return err
	}},
	"Process": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.Process(ctx, nil, func(context.Context, Message) error { return nil })
		return err
	}},
	"Each": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error { return drain(t.Each(ctx, nil)) }},
	"EachWithMetadata": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		return drain(t.EachWithMetadata(ctx, nil))
	}},
	"Page": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.Page(ctx, nil)
		return err
	}},
	"PageWithMetadata": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.PageWithMetadata(ctx, nil)
		return err
	}},
	"History": {true, false, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		return drain(t.History(ctx, m.DBKey()))
	}},
	"Insert": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error { return t.Insert(ctx, m) }},
	"Upsert": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error { return t.Upsert(ctx, m) }},
	"Update": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error { return t.Update(ctx, m) }},
	"Mutate": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		_, err := t.Mutate(ctx, m.DBKey(), func(m *Message) error { m.Sent++; return nil })
		return err
	}},
	"SafeUpdate": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		to := m
		to.Sent++
		return t.SafeUpdate(ctx, m, to)
	}},
	"Delete": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error { return t.Delete(ctx, m.DBKey()) }},
	"DeleteWhere": {false, true, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.DeleteWhere(ctx, nil)
		return err
	}},
	"Tx": {false, true, inTx(func(context.Context, object.TxSet[Message, MessageID, ChatID], Message) error { return nil })},
	"Lock": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		l, err := t.Lock(ctx, m.DBKey(), "")
		if err == nil {
			err = l.Unlock(ctx)
		}
		return err
	}},
	"ResumeLock": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		_, err := t.ResumeLock(ctx, m.DBKey(), "no token")
		return err
	}},
	"Locks": {false, false, func(ctx context.Context, _ *messageSet, t messages, _ Message) error {
		_, err := t.Locks(ctx)
		return err
	}},
	"BreakLock": {true, true, func(ctx context.Context, _ *messageSet, t messages, m Message) error {
		return t.BreakLock(ctx, m.DBKey(), onto.Operator("ana"), "a test")
	}},
}

// txOperations are all methods of a set in a transaction, by their names.
var txOperations = map[string]operation{
	"SelectByID": {true, false, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], m Message) error {
		_, err := x.SelectByID(ctx, m.ID)
		return err
	})},
	"Exists": {true, false, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], m Message) error {
		_, err := x.Exists(ctx, m.ID)
		return err
	})},
	"Select": {false, false, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], _ Message) error {
		_, err := x.Select(ctx, nil)
		return err
	})},
	"Insert": {true, true, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], m Message) error {
		return x.Insert(ctx, m)
	})},
	"Upsert": {true, true, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], m Message) error {
		return x.Upsert(ctx, m)
	})},
	"Update": {true, true, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], m Message) error {
		return x.Update(ctx, m)
	})},
	"Delete": {true, true, inTx(func(ctx context.Context, x object.TxSet[Message, MessageID, ChatID], m Message) error {
		return x.Delete(ctx, m.ID)
	})},
}

// vaultsOperations are all methods of vaults about a vault or a tenant, by their names; nil for
// those that are about neither.
var vaultsOperations = map[string]func(ctx context.Context, v *object.Vaults, vault, tenant string) error{
	"Names": nil,
	"Close": nil,
	"Init": func(ctx context.Context, v *object.Vaults, vault, tenant string) error {
		return v.Init(ctx, vault, tenant)
	},
	"Shards": func(ctx context.Context, v *object.Vaults, vault, tenant string) error {
		_, err := v.Shards(ctx, vault, tenant)
		return err
	},
	"Versions": func(ctx context.Context, v *object.Vaults, vault, tenant string) error {
		versions, err := v.Versions(ctx, vault, tenant, "Message")
		if err != nil {
			return err
		}
		_, err = versions.Count(ctx, nil)
		return err
	},
	"ShardOf": func(ctx context.Context, v *object.Vaults, vault, tenant string) error {
		_, err := v.ShardOf(ctx, vault, tenant, onto.EntityID("Message", "c1/m1"))
		return err
	},
	"Survey": func(ctx context.Context, v *object.Vaults, vault, tenant string) error {
		y, err := v.Survey(ctx, vault, tenant)
		if err != nil {
			return err
		}
		return y.Close()
	},
	"Tenants": func(_ context.Context, v *object.Vaults, vault, _ string) error {
		_, err := v.Tenants(vault)
		return err
	},
	"PlanMigration": func(ctx context.Context, v *object.Vaults, vault, _ string) error {
		_, err := v.PlanMigration(ctx, vault, nil)
		return err
	},
	"Migrate": func(ctx context.Context, v *object.Vaults, vault, _ string) error {
		_, err := v.Migrate(ctx, vault, nil, "")
		return err
	},
	"MigrateWith": func(ctx context.Context, v *object.Vaults, vault, _ string) error {
		_, err := v.MigrateWith(ctx, vault, nil, &store.ApplyOptions{Force: true}, nil)
		return err
	},
}

// Every operation is in one of the tables.
func TestTablesAreComplete(t *testing.T) {
	for typ, table := range map[reflect.Type][]string{
		reflect.TypeFor[messages]():                                 sortedNames(tenantOperations),
		reflect.TypeFor[object.TxSet[Message, MessageID, ChatID]](): sortedNames(txOperations),
		reflect.TypeFor[*object.Vaults]():                           sortedNames(vaultsOperations),
	} {
		var methods []string
		for i := range typ.NumMethod() {
			methods = append(methods, typ.Method(i).Name)
		}
		if !slices.Equal(methods, table) {
			t.Errorf("%v has the methods %v, and the table has %v", typ, methods, table)
		}
	}
}

func sortedNames[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// eachOperation calls f with every operation on messages.
func eachOperation(f func(name string, o operation)) {
	for name, o := range tenantOperations {
		f(name, o)
	}
	for name, o := range txOperations {
		f("TxSet."+name, o)
	}
}

// wantError fails unless an error has a code and says all of the texts.
func wantError(t *testing.T, what string, err error, code onto.Code, texts ...string) {
	t.Helper()
	var e *onto.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: got %v (%s), want %s", what, err, onto.CodeOf(err), code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v, want something about %s", what, err, text)
		}
	}
}

// wrongWorld is a tenant with messages beside another with the same keys.
func wrongWorld(t *testing.T) (*object.Vaults, *messageSet, func()) {
	dir := t.TempDir()
	l := layout{"sqlite", 3}
	v := open(t, object.Config{"chat": {"acme": l.uris(dir, "acme"), "rival": l.uris(dir, "rival"), "empty": l.uris(dir, "empty")}})
	set := messagesOf(v)
	for _, tenant := range []string{"acme", "rival"} {
		if err := v.Init(t.Context(), "chat", tenant); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			m := message(i)
			m.Text += " of " + tenant
			if err := set.Tenant(tenant).Insert(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := heads(t, v)
	return v, set, func() {
		t.Helper()
		if after := heads(t, v); !reflect.DeepEqual(after, before) {
			t.Errorf("the heads were %v and are %v", before, after)
		}
	}
}

// heads returns the newest commit of each shard, and its leases.
func heads(t *testing.T, v *object.Vaults) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, tenant := range []string{"acme", "rival"} {
		shards, err := v.Shards(context.Background(), "chat", tenant)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range shards {
			if s.Store == nil {
				found[tenant+" "+s.URI] = "down"
				continue
			}
			head, err := s.Store.Head(context.Background())
			leases, err2 := s.Store.Leases(context.Background())
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			found[tenant+" "+s.Name] = fmt.Sprint(head.ID, len(leases), len(s.Store.Types()))
		}
	}
	return found
}

// What leads nowhere is an error that names it, and changes nothing.
func TestWrongPlaces(t *testing.T) {
	v, set, unchanged := wrongWorld(t)
	nowhere := object.NewSet[Message](v, "nowhere").Ready()
	ctx := t.Context()
	eachOperation(func(name string, o operation) {
		m := message(1)
		wantError(t, name, o.run(ctx, set, set.Tenant("nobody"), m), onto.NotFound, "nobody", "chat")
		wantError(t, name, o.run(ctx, set, set.Tenant(""), m), onto.NotFound, "tenant")
		wantError(t, name, o.run(ctx, nowhere, nowhere.Tenant("acme"), m), onto.NotFound, "nowhere")
		wantError(t, name, o.run(ctx, set, set.Tenant("empty"), m), onto.Uninitialized, "empty")
	})
	for name, call := range vaultsOperations {
		if call == nil {
			continue
		}
		wantError(t, name, call(ctx, v, "nowhere", "acme"), onto.NotFound, "nowhere")
		if name == "Init" || name == "Shards" || name == "Versions" {
			wantError(t, name, call(ctx, v, "chat", "nobody"), onto.NotFound, "nobody")
		}
	}
	unchanged()
}

// What has no usable key is an error that names the set, and changes nothing.
func TestWrongKeys(t *testing.T) {
	_, set, unchanged := wrongWorld(t)
	long := strings.Repeat("l", 1025)
	eachOperation(func(name string, o operation) {
		if !o.keyed {
			return
		}
		for what, key := range map[string][2]string{
			"no id": {"", "c1"}, "long": {long, "c1"}, "long after escapes": {strings.Repeat("%", 400), "c1"}, "NUL": {"a\x00b", "c1"}, "no UTF-8": {"a\xff", "c1"},
		} {
			m := message(1)
			m.ID, m.Chat = MessageID(key[0]), ChatID(key[1])
			err := o.run(t.Context(), set, set.Tenant("acme"), m)
			code := onto.Invalid
			if strings.HasPrefix(what, "long") {
				code = onto.TooLarge
			}
			wantError(t, name+" with "+what, err, code, "Message")
		}
		m := message(1)
		m.Chat = ""
		wantError(t, name+" without a shard key", o.run(t.Context(), set, set.Tenant("acme"), m), onto.Invalid, "shard key", "empty")
	})
	unchanged()
}

// A context that has ended ends every operation, and nothing is changed.
func TestCancelled(t *testing.T) {
	v, set, unchanged := wrongWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	eachOperation(func(name string, o operation) {
		if name == "ResumeLock" {
			return // its token is none, with or without a context
		}
		if err := o.run(ctx, set, set.Tenant("acme"), message(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	})
	for name, call := range vaultsOperations {
		if call == nil || name == "Tenants" || name == "Shards" || name == "ShardOf" { // which ask nothing once the tenant is open
			continue
		}
		if err := call(ctx, v, "chat", "acme"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	unchanged()
}

// After Close every operation is refused, also on what was made before.
func TestClosed(t *testing.T) {
	v, set, _ := wrongWorld(t)
	lock, err := set.Tenant("acme").Lock(t.Context(), message(1).DBKey(), "held while the vaults are closed")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	eachOperation(func(name string, o operation) {
		wantError(t, name, o.run(t.Context(), set, set.Tenant("acme"), message(1)), onto.Closed)
	})
	for name, call := range vaultsOperations {
		if call != nil && name != "Tenants" {
			wantError(t, name, call(t.Context(), v, "chat", "acme"), onto.Closed)
		}
	}
	wantError(t, "Unlock", lock.Unlock(t.Context()), onto.Closed)
}
