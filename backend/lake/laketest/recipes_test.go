package laketest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
)

// place is a lake on a real S3 server, for users with a shell and a stock S3 client.
type place struct {
	*testing.T
	endpoint string
	dir      string // where the shell is
}

// newPlace makes the lake: four commits, of which the first, the second and the
// last touch Customer. It returns nil if something is missing that is needed.
func newPlace(t *testing.T) *place {
	t.Helper()
	for command, required := range map[string]string{"aws": "awscli", "jq": "jq", "python3": "python3"} {
		if _, err := exec.LookPath(command); err == nil {
			continue
		}
		if strings.Contains(os.Getenv("ONTO_REQUIRE"), required) {
			t.Fatalf("the %s command is required and not installed", command)
		}
		t.Logf("left out: the %s command is not installed", command)
		return nil
	}
	endpoint := gateway(t)
	p := &place{t, endpoint, t.TempDir()}
	l := p.open(nil)
	text := func(name string) onto.Field { return onto.Field{Name: name, Type: onto.String} }
	_, err := l.Register(t.Context(), &backend.Registration{Schemas: []onto.Schema{
		{Kind: onto.KindEntity, Name: "Customer", Key: "id", Fields: []onto.Field{text("id"), text("tier")}},
		{Kind: onto.KindEntity, Name: "Product", Key: "id", Fields: []onto.Field{text("id")}},
		{Kind: onto.KindRelation, Name: "Subscription", Left: "Customer", Right: "Product"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.commit(l, customer("ada", "Gold"), customer("bob", "Gold"), product("lamp"))
	p.commit(l, customer("ada", "Silver"), write(onto.RelationID("Subscription", "ada", "lamp"), `{}`))
	p.commit(l, product("desk"))
	p.commit(l, customer("cyd", "Gold"), backend.Write{Identity: onto.EntityID("Customer", "bob"), Op: onto.Delete, SchemaVersion: 1})
	p.close(l)
	return p
}

func write(id onto.Identity, fields string) backend.Write {
	return backend.Write{Identity: id, Op: onto.Put, Fields: []byte(fields), SchemaVersion: 1}
}

func customer(key, tier string) backend.Write {
	return write(onto.EntityID("Customer", key), fmt.Sprintf(`{"id":%q,"tier":%q}`, key, tier))
}

func product(key string) backend.Write {
	return write(onto.EntityID("Product", key), fmt.Sprintf(`{"id":%q}`, key))
}

func (p *place) open(now func() time.Time) *lake.Backend {
	p.Helper()
	l, err := lake.Open(p.Context(), openBucket(p, p.endpoint, "lake"), &lake.Options{
		Trusted: true, Runtime: "writer-a", LockTimeout: 100 * time.Millisecond, Now: now,
	})
	if err != nil {
		p.Fatal(err)
	}
	return l
}

// close closes a lake. What is written beside commits is there then.
func (p *place) close(l *lake.Backend) {
	p.Helper()
	if err := l.Close(); err != nil {
		p.Fatal(err)
	}
}

func (p *place) commit(l *lake.Backend, writes ...backend.Write) {
	p.Helper()
	slices.SortFunc(writes, func(a, b backend.Write) int { return a.Identity.Compare(b.Identity) })
	if _, err := l.Append(p.Context(), &backend.Draft{Writes: writes}); err != nil {
		p.Fatal(err)
	}
}

// run runs a script with a command of the shell or of Python, which the script is
// the last argument of. It returns what the script printed.
func (p *place) run(command []string, script string) (string, error) {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), command[0], append(command[1:], script)...)
	cmd.Dir = p.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ENDPOINT=" + p.endpoint, "LC_ALL=C",
		"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey, "AWS_DEFAULT_REGION=us-east-1",
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=",
	}
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, told.String())
	}
	return strings.TrimSpace(string(out)), err
}

// shell runs commands as a user would type them, with the settings to reach the server.
func (p *place) shell(script string) (string, error) {
	p.Helper()
	return p.run([]string{"bash", "-euo", "pipefail", "-c"}, `aws() { command aws --endpoint-url "$ENDPOINT" "$@"; }`+"\n"+script)
}

// prints fails unless commands print this.
func (p *place) prints(script, want string) {
	p.Helper()
	if got, err := p.shell(script); err != nil || got != want {
		p.Fatalf("%s\n got: %s (error %v)\nwant: %s", script, got, err, want)
	}
}

// read is how Python scripts read the documents of the lake.
const read = `
import json, os, subprocess
prefix = "s3://things/lake"
class NotFound(Exception): pass
def read_json(url):
    r = subprocess.run(["aws", "--endpoint-url", os.environ["ENDPOINT"], "s3", "cp", url, "-"], capture_output=True)
    if r.returncode != 0: raise NotFound(r.stderr.decode())
    return json.loads(r.stdout)
`

// python fails unless a script prints something that begins with this; "" for
// nothing at all.
func (p *place) python(script, want string) {
	p.Helper()
	got, err := p.run([]string{"python3", "-c"}, read+script)
	if err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
		p.Fatalf("%s\n got: %s (error %v)\nwant: %s", script, got, err, want)
	}
}

// The head leads to manifests that are there, and to nothing that a killed writer
// has left.
func TestRecipesForTheLog(t *testing.T) {
	p := newPlace(t)
	if p == nil {
		return
	}
	p.prints(`aws s3 cp s3://things/lake/meta/head.json - | jq -r '.commit_id, .runtime_id, (keys | contains(["manifest_path", "updated_at"]))'`, "4\nwriter-a\ntrue")
	p.prints(`path=$(aws s3 cp s3://things/lake/meta/head.json - | jq -r .manifest_path)
		aws s3 ls s3://things/lake/$path | awk '{print $4}'`, "manifest.json")
	chain := `
def verify(path):
    visited = set()
    while path:
        if path in visited:
            print("cycle at", path)
            return
        visited.add(path)
        try:
            path = read_json(prefix + "/" + path).get("parent_manifest_path")
        except NotFound:
            print("not found:", path)
            return
    print(len(visited), "rounds")
verify(read_json(prefix + "/meta/head.json")["manifest_path"])`
	p.python(chain, "4 rounds")
	p.prints(`aws s3 ls s3://things/lake/commits/ --recursive | grep -c manifest.json`, "4")
	p.prints(`aws s3 ls s3://things/lake/commits/ --recursive | grep entities/Customer.parquet | wc -l | tr -d ' '`, "3")

	b := openBucket(t, p.endpoint, "lake")
	defer b.Close()
	if _, err := b.Create(t.Context(), "commits/5-killed/manifest.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	p.prints(`
		path=$(aws s3 cp s3://things/lake/meta/head.json - | jq -r .manifest_path)
		while [ "$path" != null ]; do
			echo lake/$path
			path=$(aws s3 cp s3://things/lake/$path - | jq -r .parent_manifest_path)
		done | sort > chain
		aws s3 ls s3://things/lake/commits/ --recursive | grep manifest.json | awk '{print $4}' | sort | comm -13 chain -`,
		"lake/commits/5-killed/manifest.json")
	p.prints(`first=$(aws s3 ls s3://things/lake/commits/ --recursive | grep -o 'commits/1-.*manifest.json')
		aws s3 rm --only-show-errors s3://things/lake/$first`, "")
	p.python(chain, "not found: commits/1-")
}

// Credentials can be tried on the head.
func TestRecipesForCredentials(t *testing.T) {
	p := newPlace(t)
	if p == nil {
		return
	}
	const look = `aws s3api head-object --bucket things --key lake/meta/head.json | jq '.ContentLength > 0'`
	p.prints(look, "true")
	if got, err := p.shell("export AWS_SECRET_ACCESS_KEY=wrong\n" + look); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("with a wrong secret: got %q, error %v; want 403", got, err)
	}
}

// The lock tells who holds the write lease and for how long, and removing it ends
// the lease.
func TestRecipesForLocks(t *testing.T) {
	p := newPlace(t)
	if p == nil {
		return
	}
	const expired = `
from datetime import datetime, timezone
expires = datetime.fromisoformat(read_json(prefix + "/meta/locks/ontology_write.json")["expires_at"])
now = datetime.now(timezone.utc)
print("expired" if now >= expires else "valid")`
	early := p.open(func() time.Time { return time.Now().Add(-time.Hour) })
	defer early.Close()
	p.acquire(early, "gone", time.Minute)
	p.python(expired, "expired")

	l := p.open(nil)
	defer l.Close()
	lease := p.acquire(l, "nightly", time.Hour)
	p.python(expired, "valid")
	const holder = `aws s3 cp s3://things/lake/meta/locks/ontology_write.json - | jq -r '.owner_id, .lease_ttl_ms'`
	p.prints(holder, "nightly\n3600000")

	other := p.open(nil)
	defer other.Close()
	draft := &backend.Draft{Writes: []backend.Write{customer("dan", "Gold")}}
	if _, err := other.Append(t.Context(), draft); onto.CodeOf(err) != onto.LockContention {
		t.Errorf("append while the lease is held: got %v, want %s", err, onto.LockContention)
	}
	p.prints(`aws s3 rm s3://things/lake/meta/locks/ontology_write.json`, "delete: s3://things/lake/meta/locks/ontology_write.json")
	if res, err := other.Append(t.Context(), draft); err != nil || res.ID != 5 {
		t.Errorf("append after the lock was removed: got commit %d, %v; want 5", res.ID, err)
	}
	draft = &backend.Draft{Writes: []backend.Write{customer("eve", "Gold")}, Lease: &lease}
	if _, err := l.Append(t.Context(), draft); onto.CodeOf(err) != onto.LeaseExpired {
		t.Errorf("append under the lease whose lock was removed: got %v, want %s", err, onto.LeaseExpired)
	}
}

func (p *place) acquire(l *lake.Backend, owner string, ttl time.Duration) onto.Lease {
	p.Helper()
	lease, err := l.Acquire(p.Context(), &backend.LeaseRequest{Name: onto.WriteLease, Owner: owner, TTL: ttl})
	if err != nil {
		p.Fatal(err)
	}
	return lease
}

// missing tells what is wrong with the index of Customer as far as the head goes.
const missing = `
head = read_json(prefix + "/meta/head.json")
files = [f for f in read_json(prefix + "/" + head["manifest_path"])["files"] if f["kind"] == "entity" and f["type_name"] == "Customer"]
if files:
    at = head["commit_id"]
    entries = [e for e in read_json(prefix + "/meta/indices/entities/Customer.json")["entries"] if e["min_commit_id"] <= at <= e["max_commit_id"]]
    single = [e for e in entries if e["min_commit_id"] == e["max_commit_id"]]
    if not entries:
        print("no entry covers commit", at)
    elif single and single[0]["path"] != files[0]["path"]:
        print("another path:", single[0]["path"])`

// The index of a type leads to its files. One that lags or was tampered with is
// told, and the next commit repairs it.
func TestRecipesForIndexes(t *testing.T) {
	p := newPlace(t)
	if p == nil {
		return
	}
	const index = "s3://things/lake/meta/indices/entities/Customer.json"
	const lag = `HEAD=$(aws s3 cp s3://things/lake/meta/head.json - | jq -r .commit_id)
		aws s3 cp ` + index + ` - | jq -r ".max_indexed_commit, \"Head: $HEAD\""`
	p.prints(lag, "4\nHead: 4")
	p.prints(`aws s3 cp `+index+` - | jq -c '.type_name, [.entries[] | .min_commit_id, .max_commit_id]'`, "\"Customer\"\n[1,1,2,2,4,4]")
	p.prints(`for path in $(aws s3 cp `+index+` - | jq -r '.entries[].path'); do
			aws s3 ls s3://things/lake/$path
		done | awk '{print $4}'`, "Customer.parquet\nCustomer.parquet\nCustomer.parquet")
	p.python(missing, "")

	p.prints(`aws s3 cp `+index+` - | jq -c '.entries |= .[:-1] | .max_indexed_commit = 2' > stale.json
		aws s3 cp --only-show-errors stale.json `+index, "")
	p.prints(lag, "2\nHead: 4")
	p.python(missing, "no entry covers commit 4")
	p.prints(`aws s3 cp `+index+` - | jq -c '.entries += [.entries[0] | .min_commit_id = 4 | .max_commit_id = 4]' > stale.json
		aws s3 cp --only-show-errors stale.json `+index, "")
	p.python(missing, "another path: commits/1-")

	l := p.open(nil)
	p.commit(l, customer("dan", "Gold"))
	p.close(l)
	p.prints(lag, "5\nHead: 5")
	p.python(missing, "")
}

// latest is the newest version of each customer, also of those that are deleted.
func latest(from, where string) string {
	return `SELECT q.entity_key, q.fields_json, q.commit_id FROM (
		SELECT eh.entity_key, eh.fields_json, eh.commit_id, eh.op,
			ROW_NUMBER() OVER (PARTITION BY eh.entity_key ORDER BY eh.commit_id DESC) AS _rn
		FROM ` + from + ` eh WHERE eh.entity_type = 'Customer'` + where + `
	) q WHERE q._rn = 1`
}

// Files that were downloaded can be asked with DuckDB alone.
func TestRecipesForQueries(t *testing.T) {
	p := newPlace(t)
	if p == nil {
		return
	}
	p.prints(`aws s3 cp --only-show-errors --recursive s3://things/lake/commits/ files`, "")
	files := func(name string) string {
		return fmt.Sprintf("read_parquet(%s, union_by_name=true)", quoted(filepath.Join(p.dir, "files", "*", filepath.FromSlash(name))))
	}
	customers, subscriptions := files("entities/Customer.parquet"), files("relations/Subscription.parquet")
	const ada, adaThen, bob, bobGone, cyd = `ada {"id":"ada","tier":"Silver"} 2`, `ada {"id":"ada","tier":"Gold"} 1`,
		`bob {"id":"bob","tier":"Gold"} 1`, `bob {} 4`, `cyd {"id":"cyd","tier":"Gold"} 4`
	db := openDuckDB(t)
	for _, test := range []struct{ name, sql, want string }{
		{"latest, with what is deleted", latest(customers, ""), ada + "\n" + bobGone + "\n" + cyd},
		{"latest", latest(customers, "") + " AND q.op = 'put'", ada + "\n" + cyd},
		{"latest by a field", latest(customers, "") + " AND (q.fields_json->>'tier') = 'Gold'", cyd},
		{"as of commit 3", latest(customers, " AND eh.commit_id <= 3"), bob + "\n" + ada},
		{"as of commit 1", latest(customers, " AND eh.commit_id <= 1"), adaThen + "\n" + bob},
		{"history", `SELECT entity_key, commit_id FROM ` + customers, "ada 1\nbob 1\nada 2\nbob 4\ncyd 4"},
		{"typed columns", `SELECT entity_key, tier, commit_id FROM ` + customers + ` WHERE tier = 'Silver'`, "ada Silver 2"},
		{"relations", `SELECT left_key AS entity_key, right_key, instance_key = '', commit_id FROM ` + subscriptions +
			` WHERE relation_type = 'Subscription'`, "ada lamp true 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := db.text(t, `SELECT string_agg(concat_ws(' ', *COLUMNS(*)), chr(10) ORDER BY commit_id, entity_key) FROM (`+test.sql+`)`, 0)
			if got != test.want {
				t.Errorf("%s\n got: %s\nwant: %s", test.sql, got, test.want)
			}
		})
	}
	p.wantPlan(db, latest(customers, ""))
}

// wantPlan fails unless DuckDB tells before and after a query that it reads
// Parquet.
func (p *place) wantPlan(db *stockDuckDB, sql string) {
	p.Helper()
	plan := db.text(p.T, "EXPLAIN "+sql, 1)
	if !strings.Contains(plan, "PARQUET") || !strings.Contains(plan, "entity_type='Customer'") {
		p.Errorf("the plan does not read Parquet with a filter:\n%s", plan)
	}
	output := "PRAGMA profiling_output=" + quoted(filepath.Join(p.dir, "query_profile.json"))
	for _, sql := range []string{"PRAGMA enable_profiling='json'", output, sql, "PRAGMA disable_profiling"} {
		db.text(p.T, sql, 0)
	}
	p.prints(`jq -r '[.. | .operator_name? // empty | select(test("PARQUET"))] | length' query_profile.json`, "1")
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// stockDuckDB is DuckDB as it comes, with nothing of a lake.
type stockDuckDB struct{ conn duckdb.Connection }

func openDuckDB(t *testing.T) *stockDuckDB {
	t.Helper()
	var db duckdb.Database
	var s stockDuckDB
	if duckdb.Open(":memory:", &db) == duckdb.StateError || duckdb.Connect(db, &s.conn) == duckdb.StateError {
		t.Fatal("DuckDB does not open")
	}
	t.Cleanup(func() {
		duckdb.Disconnect(&s.conn)
		duckdb.Close(&db)
	})
	return &s
}

// text returns one column of the first row of an answer, which must be text; "" if
// there is no answer.
func (s *stockDuckDB) text(t *testing.T, sql string, column duckdb.IdxT) string {
	t.Helper()
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(s.conn, sql, &res) == duckdb.StateError {
		t.Fatalf("%s: %s", sql, duckdb.ResultError(&res))
	}
	chunk := duckdb.FetchChunk(res)
	if chunk.Ptr == nil {
		return ""
	}
	defer duckdb.DestroyDataChunk(&chunk)
	if duckdb.DataChunkGetSize(chunk) == 0 || column >= duckdb.DataChunkGetColumnCount(chunk) {
		return ""
	}
	data := duckdb.VectorGetData(duckdb.DataChunkGetVector(chunk, column))
	return duckdb.StringTData(unsafe.SliceData(unsafe.Slice((*duckdb.StringT)(data), 1)))
}
