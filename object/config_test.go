package object_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/object"
)

// A configuration is YAML or JSON, of URIs or connections, below a key database or not.
func TestParseConfig(t *testing.T) {
	t.Setenv("OBJECT_TEST_DIR", "/data")
	t.Setenv("OBJECT_TEST_PASSWORD", "s3cret$")
	os.Unsetenv("OBJECT_TEST_MISSING")
	type shards = []string
	for name, c := range map[string]struct {
		text string
		want object.Config
	}{
		"YAML": {"chat:\n  acme: [sqlite:///a.db, file:///lake]\n  rival:\n    - memory://\nmail: {acme: [sqlite:///m.db]}\n",
			object.Config{"chat": {"acme": shards{"sqlite:///a.db", "file:///lake"}, "rival": shards{"memory://"}}, "mail": {"acme": shards{"sqlite:///m.db"}}}},
		"JSON":            {`{"chat": {"acme": ["sqlite:///a.db"]}}`, object.Config{"chat": {"acme": shards{"sqlite:///a.db"}}}},
		"below database":  {`{"database": {"chat": {"acme": ["sqlite:///a.db"]}}}`, object.Config{"chat": {"acme": shards{"sqlite:///a.db"}}}},
		"vault database":  {"database: {acme: [sqlite:///a.db]}", object.Config{"database": {"acme": shards{"sqlite:///a.db"}}}},
		"database twice":  {"database: {database: {acme: [sqlite:///a.db]}}", object.Config{"database": {"acme": shards{"sqlite:///a.db"}}}},
		"beside database": {"database: {acme: [memory://]}\nchat: {acme: [memory://]}", object.Config{"database": {"acme": shards{"memory://"}}, "chat": {"acme": shards{"memory://"}}}},
		"connections of D4": {`{"database": {"messages": {"test": [
			{"engine": "sqlite3", "in_memory": true}, {"engine": "sqlite3", "in_memory": true}]}}}`,
			object.Config{"messages": {"test": shards{"sqlite:///:memory:", "sqlite:///:memory:"}}}},
		"a file":           {"chat: {acme: [{engine: sqlite, database: d/a.db}, {engine: sqlite3, database: /abs.db, in_memory: false}]}", object.Config{"chat": {"acme": shards{"sqlite:///d/a.db", "sqlite:////abs.db"}}}},
		"a server":         {"chat: {acme: [{engine: postgres, host: h, port: 5432, database: d, username: u, password: '${OBJECT_TEST_PASSWORD}'}]}", object.Config{"chat": {"acme": shards{"postgres://"}}}},
		"variables":        {"chat: {acme: ['sqlite://${OBJECT_TEST_DIR}/$$/$x/${OBJECT_TEST_DIR}.db', {engine: sqlite3, database: '${OBJECT_TEST_DIR}/a.db'}]}", object.Config{"chat": {"acme": shards{"sqlite:///data/$/$x//data.db", "sqlite:////data/a.db"}}}},
		"an alias":         {"a: &a {acme: [memory://]}\nb: *a\n", object.Config{"a": {"acme": shards{"memory://"}}, "b": {"acme": shards{"memory://"}}}},
		"an aliased shard": {"a: {x: [&s {engine: sqlite3, database: &d a.db}], y: [*s, {engine: sqlite3, database: *d}]}", object.Config{"a": {"x": shards{"sqlite:///a.db"}, "y": shards{"sqlite:///a.db", "sqlite:///a.db"}}}},
		"list aliases":     {"a: {x: &l [memory://], y: *l}", object.Config{"a": {"x": shards{"memory://"}, "y": shards{"memory://"}}}},
	} {
		got, err := object.ParseConfig([]byte(c.text))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "vaults.yaml")
	must(t, os.WriteFile(path, []byte("chat: {acme: [memory://]}"), 0o600))
	if got, err := object.ReadConfig(path); err != nil || !reflect.DeepEqual(got, object.Config{"chat": {"acme": {"memory://"}}}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A wrong configuration is refused with the line and the name of what is wrong, and without
// its secrets.
func TestWrongConfig(t *testing.T) {
	t.Setenv("OBJECT_TEST_PASSWORD", "hunter2")
	os.Unsetenv("OBJECT_TEST_MISSING")
	for name, c := range map[string]struct{ text, says string }{
		"empty":               {"", "empty"},
		"only a comment":      {"# nothing\n", "empty"},
		"no YAML":             {"chat: {acme: [", "neither YAML nor JSON"},
		"a list":              {"- chat", "line 1: the configuration is not a mapping"},
		"a text":              {"chat", "not a mapping"},
		"a vault of a text":   {"chat: acme", "vault chat is not a mapping"},
		"a tenant of a text":  {"chat:\n  acme: memory://\n", "line 2: tenant acme of vault chat is not a list"},
		"a list in a list":    {"chat: {acme: [[memory://]]}", "tenant acme of vault chat"},
		"no shards":           {"chat: {acme: []}", "tenant acme of vault chat has 0 shards"},
		"two vaults":          {"chat: {acme: [memory://]}\nchat: {acme: [memory://]}", "chat"},
		"two tenants":         {"chat: {acme: [memory://], acme: [memory://]}", "acme"},
		"no name":             {"chat: {'': [memory://]}", "tenant"},
		"a bad name":          {"'no vault': {acme: [memory://]}", "no vault"},
		"no engine":           {"chat: {acme: [{database: a.db}]}", `engine "" is unknown`},
		"an unknown engine":   {"chat: {acme: [{engine: oracle, password: hunter2}]}", `engine "oracle" is unknown`},
		"no file":             {"chat: {acme: [{engine: sqlite3}]}", "names no database"},
		"an unknown member":   {"chat: {acme: [{engine: sqlite3, databse: a.db}]}", "no databse"},
		"a member twice":      {"chat: {acme: [{engine: sqlite3, engine: sqlite3}]}", "engine"},
		"a member of a list":  {"chat: {acme: [{engine: [sqlite3]}]}", "engine is not a plain value"},
		"not true or false":   {"chat: {acme: [{engine: sqlite3, in_memory: perhaps}]}", "in_memory is true or false"},
		"an unset variable":   {"chat: {acme: ['sqlite:///${OBJECT_TEST_MISSING}.db']}", "OBJECT_TEST_MISSING is not set"},
		"an unset password":   {"chat: {acme: [{engine: postgres, password: '${OBJECT_TEST_MISSING}'}]}", "OBJECT_TEST_MISSING is not set"},
		"a shard of a number": {"chat: {acme: [{engine: sqlite3, database: {x: 1}}]}", "database is not a plain value"},
	} {
		_, err := object.ParseConfig([]byte(c.text))
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
		if text := err.Error() + onto.HintOf(err).String(); strings.Contains(text, "hunter2") {
			t.Errorf("%s: the error repeats a password: %s", name, text)
		}
	}
	_, err := object.ReadConfig(filepath.Join(t.TempDir(), "nothing.yaml"))
	wantCode(t, err, onto.Invalid)
	path := filepath.Join(t.TempDir(), "vaults.yaml")
	must(t, os.WriteFile(path, []byte("chat: acme"), 0o600))
	if _, err := object.ReadConfig(path); err == nil || !strings.Contains(err.Error(), "vaults.yaml: line 1") {
		t.Errorf("the error does not name file and line: %v", err)
	}
}

// Open refuses shards that cannot be, before it opens any, and repeats no secrets.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := "sqlite:///" + filepath.Join(dir, "a.db")
	for name, c := range map[string]struct {
		shards []string
		says   string
	}{
		"no shards":         {nil, "tenant acme of vault chat has 0 shards"},
		"a shard twice":     {[]string{file, file}, "lists the shard " + file + " twice"},
		"by another path":   {[]string{file, "sqlite:///" + dir + "/x/../a.db"}, "twice"},
		"no URI":            {[]string{"hunter2"}, "shard 1 of tenant acme of vault chat"},
		"an unknown one":    {[]string{"memory://", "mysql://root:hunter2@h/db"}, "shard 2 of tenant acme of vault chat"},
		"a server":          {[]string{"postgres://u:hunter2@h/db"}, "not supported"},
		"a wrong parameter": {[]string{file + "?password=hunter2"}, "parameters"},
	} {
		_, err := object.Open(t.Context(), object.Config{"chat": {"acme": c.shards}}, sqlite.Opener, memory.Opener, lake.Opener)
		if onto.CodeOf(err) != onto.Invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
		if text := err.Error() + onto.HintOf(err).String(); strings.Contains(text, "hunter2") {
			t.Errorf("%s: the error repeats a password: %s", name, text)
		}
	}
	config, err := object.ParseConfig([]byte("chat: {acme: [{engine: postgres, host: h, password: hunter2}]}"))
	must(t, err)
	_, err = object.Open(t.Context(), config, sqlite.Opener)
	if hint := onto.HintOf(err).String(); onto.CodeOf(err) != onto.Invalid || !strings.Contains(hint, "PostgreSQL") {
		t.Errorf("a server: got %v, %q", err, hint)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("something was made: %v", list)
	}
}

// Two shards in memory are two stores, and each opening is another one.
func TestInMemory(t *testing.T) {
	config, err := object.ParseConfig([]byte(`{"database": {"chat": {"acme": [
		{"engine": "sqlite3", "in_memory": true}, {"engine": "sqlite3", "in_memory": true}]}}}`))
	must(t, err)
	for range 2 {
		v := open(t, config)
		must(t, v.Init(t.Context(), "chat", "acme"))
		acme := messagesOf(v).Tenant("acme")
		insert(t, acme, 30)
		on := map[string]int{}
		list, err := acme.SelectAllWithMetadata(t.Context())
		must(t, err)
		for _, o := range list {
			on[o.Metadata.Shard]++
		}
		if len(list) != 30 || len(on) != 2 {
			t.Errorf("got %d objects, on %v", len(list), on)
		}
	}
}

// Names that the configuration does not have are NotFound, with those that it has.
func TestUnknownNames(t *testing.T) {
	v := open(t, object.Config{"chat": {"acme": {"memory://"}}, "empty": {}})
	for _, c := range []struct{ vault, tenant, hint string }{
		{"chta", "acme", "chat, empty"}, {"chat", "acne", "acme"}, {"empty", "acme", "no tenants"},
	} {
		for what, err := range map[string]error{
			"Init": v.Init(t.Context(), c.vault, c.tenant),
			"a read": func() error {
				_, err := object.NewSet[Chat](v, c.vault).Ready().Tenant(c.tenant).SelectAll(t.Context())
				return err
			}(),
			"Shards": func() error { _, err := v.Shards(t.Context(), c.vault, c.tenant); return err }(),
		} {
			if onto.CodeOf(err) != onto.NotFound || !strings.Contains(onto.HintOf(err).String(), c.hint) {
				t.Errorf("%s of %s, %s: got %v, %q", what, c.vault, c.tenant, err, onto.HintOf(err))
			}
		}
	}
	if names := v.Names(); !reflect.DeepEqual(names, []string{"chat", "empty"}) {
		t.Errorf("got %v", names)
	}
	if tenants, err := v.Tenants("chat"); err != nil || !reflect.DeepEqual(tenants, []string{"acme"}) {
		t.Errorf("got %v, %v", tenants, err)
	}
	_, err := v.Tenants("chta")
	wantCode(t, err, onto.NotFound)
}

// What may be secret in a URI is in no error, and not in what operators see of a shard.
func TestSecretsOfURIs(t *testing.T) {
	server := backend.Opener{
		Schemes: []string{"fake"}, Forms: []string{"fake://host/db"},
		Open: func(context.Context, string, bool) (backend.Backend, error) {
			return nil, onto.Errorf(onto.Unavailable, "the server does not answer")
		},
		Identity: func(uri string) (string, error) { return uri, nil },
	}
	const uri = "fake://ana:hunter2@host:99/db?token=hunter2#hunter2"
	for name, shown := range map[string]string{uri: "fake://host:99/db", "fake://hunter2:%zz@host/hunter2": "fake://…"} {
		v, err := object.Open(t.Context(), object.Config{"chat": {"acme": {name}}}, server)
		must(t, err)
		_, err = messagesOf(v).Tenant("acme").SelectAll(t.Context())
		shards, failed := v.Shards(t.Context(), "chat", "acme")
		must(t, failed)
		_, planned := v.PlanMigration(t.Context(), "chat", nil)
		initialized := v.Init(t.Context(), "chat", "acme")
		_, twice := object.Open(t.Context(), object.Config{"chat": {"acme": {name, name}}}, server)
		for what, text := range map[string]string{
			"a read": fmt.Sprint(err, onto.HintOf(err)), "Init": fmt.Sprint(initialized), "Shards": fmt.Sprint(shards), "a plan": fmt.Sprint(planned), "Open": fmt.Sprint(twice),
		} {
			if strings.Contains(text, "hunter2") || what != "a plan" && !strings.Contains(text, shown) {
				t.Errorf("%s says %q", what, text)
			}
		}
		wantCode(t, err, onto.Unavailable)
		must(t, v.Close())
	}
}
