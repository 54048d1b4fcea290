// Command onto works on a store of Ontologia: typed entities, relations and
// facts, kept as an append-only log of commits.
//
//	onto demo                                       a story, and a file to explore
//	onto init --schema schema.yaml                  make a store, register types
//	onto put Customer '{"id":"c1","name":"Ada"}'    one commit; prints its id
//	onto put Customer --merge '{"id":"c1","tier":"Gold"}'    the other fields stay
//	onto link Subscription c1 p1 '{"seats":3}'
//	onto delete Customer c1
//	onto get Customer c1                            one thing, now or --as-of a moment
//	onto query entities Customer --as-of 12         any moment: commit id or time
//	onto query relations Subscription --where 'left.$.tier == "Gold" & $.seats > 3'
//	onto query traverse Customer --via Subscription follow relations
//	onto fact assert Contract ada salary 4000 --from 2026-01-01
//	onto fact revoke REF --at 2026-09-01            it held until then
//	onto fact retract REF                           it was wrong
//	onto query facts Contract --valid-at 2026-05-01 what holds then, as is known now
//	onto timeline Contract ada --gaps               what holds from when until when
//	onto fold list                                  what is kept of facts, and how far it is
//	onto fold verify                                against a replay
//	onto export --output all.jsonl.gz               records, JSON Lines or CSV
//	onto import --input all.jsonl.gz --apply        one commit, planned first
//	onto import --input people.csv --type Customer --apply --rejects bad.csv    what is bad is put aside
//	onto import --input staff.csv --facts --type Contract --subject id --valid-from updated_at --apply
//	onto log Customer c1                            every version of one thing
//	onto blame Customer c1                          who last set each field
//	onto diff 12 head                               what changed in between
//	onto commits --last 10                          newest first
//	onto commits examine --id 12                    one commit, its changes and its events
//	onto commits follow --name mirror               commits as they come, from where it ended
//	onto info --stats                               where, how much
//	onto schema export > schema.yaml                the types as a schema file
//	onto schema history --type Customer             the versions of a type
//	onto verify --schema schema.yaml                the stored types against a file
//	onto migrate --schema schema.yaml               change types; planned first, with a token
//	onto schema drop entity Customer                end a type; planned first, with a token
//	onto revert --commit 12                         undo; shown first
//	onto revert --subject Customer c1 --since 12    the same of all about one subject
//	onto events emit --type OrderPaid               an event for handlers
//	onto events handle --handler mail --type OrderPaid -- ./send-mail    and a handler
//	onto events dead-letters                        what handlers have given up
//	onto events replay --handler mail               once more; shown first
//	onto doctor                                     what is wrong, and how to mend it
//	onto doctor s3 s3://my-bucket/crm               can this bucket be trusted with a lake?
//	onto shard status --vaults vaults.yaml          the shards of tenants, and what is wrong
//	onto query entities Message --vaults vaults.yaml --tenant acme    of all its shards
//	onto projection verify                          check what is derived from history
//	onto projection rebuild                         and make it anew
//	onto lock show                                  who holds a lease
//	onto backup crm-monday.db                       a copy of a store in use, checked
//	onto restore crm-monday.db                      and back
//	onto janitor                                    what killed writers left in a lake
//	onto recover                                    the head of a lake that was lost; shown first
//	onto completion bash                            completions for a shell
//
// Every command has --help with examples.
//
// # Where the store is
//
// --db names a SQLite file, --storage-uri a URI: sqlite:///rel.db,
// sqlite:////abs.db or sqlite:///:memory: for SQLite, file:///directory or
// s3://bucket/prefix for a lake. Without either it is onto.db in the current
// directory. Verbs that read never make a store, and work on a copy that cannot
// be written. --vaults FILE, with --vault and --tenant, stands for the shards of tenants in
// place of a store, on init, query, get, log, export, doctor, migrate and shard. Characters in a URI stand for themselves; credentials are never
// part of one, but are found where the tools of S3 services find them: in the
// environment (AWS_PROFILE, AWS_ACCESS_KEY_ID, …), in ~/.aws, or in the machine's
// role.
//
// # Settings
//
// A flag counts before an ONTO_ variable of the environment (ONTO_DB,
// ONTO_STORAGE_URI, ONTO_LOCK_TIMEOUT_MS, …), that before ./onto.yaml, and that
// before onto/onto.yaml in the user's configuration directory. --config, or
// ONTO_CONFIG, names another file in place of ./onto.yaml. The files are YAML
// with one setting per key. An unknown key is an error, and so is an unknown ONTO_
// variable that is not empty. db and storage_uri are
// settings, too; where one place gives both, they must agree. So are vaults, vault and tenant; one
// place cannot give vaults and a store. actor, such as
// operator:ana, is on whose behalf verbs write that are not given --actor. Of the others,
// migration_wait_ms is how long writes wait for a migration, on any storage;
// max_batch_size, lock_timeout_ms and lease_ttl_ms matter for SQLite; for events
// default_namespace, event_claim_lease_ms, event_claim_limit, max_events_per_iteration,
// event_max_attempts, event_backoff_base_ms, event_backoff_max_ms,
// event_poll_interval_ms, event_retention_ms, session_heartbeat_interval_ms,
// session_ttl_ms and max_event_chain_depth; for lakes
// max_batch_size, s3_region, s3_endpoint_url, s3_request_timeout_s,
// s3_lock_timeout_ms, s3_lease_ttl_ms, s3_duckdb_memory_limit, cache_dir and
// cache_bytes. Times may have a fraction. Where lock_timeout_ms or s3_lock_timeout_ms is
// not set, migrate and schema drop wait 10 s for other writers.
//
// # Writing
//
// Each of put, link, delete and the verbs of fact makes one commit and prints its id, or says that nothing
// changed. They take --actor KIND:ID, --comment, --correlation and --meta K=V to say
// who and why; --expect-head N to fail if another commit was faster;
// --idempotency-key to be safe to repeat; and --emit TYPE=JSON for events that are
// stored with the commit, or not at all. Other verbs that make a commit take most of
// these, too.
//
// # Output
//
// Data goes to stdout, messages to stderr. --json prints one JSON document: an
// array for lists, in which absent texts are null. query also has --format
// table, json, jsonl and csv; commits follow has no end, and prints a line of JSON for
// each commit; events handle leaves stdout to its command. With --limit, the cursor of the next page is told
// on stderr. In CSV and tables, a
// column that is no field is called onto.commit_id where a field is called
// commit_id, and so on. Tables show control characters escaped. Colour and
// shortened cells are for terminals only; NO_COLOR turns colour off.
//
// An error is "onto: what happened", and mostly "hint: what to do", in which
// commands can be pasted: they name the store. With --json it is
// {"error":{"code","message","hint","command"}}, on stderr as well. The command is
// the one of the hint as a list of arguments, beginning with "onto"; hints without
// one have none. A word in capitals, as FILE, is to be filled in. Findings have a
// command in the same way, beside their remedy.
//
// # Exit status
//
//	0  success, also when nothing changed or the output is not read any more
//	1  anything without a status of its own
//	2  usage: flags, arguments, JSON, filters, values that do not fit the schema, or a verb
//	   that this kind of storage cannot do
//	3  a check found errors, a type is stored differently, or a token is stale
//	4  execution failed: interrupted by a signal, an upgrader failed, or the command of
//	   a handler did
//	5  the storage: missing, of another program, damaged, locked, full or read-only
//	6  conflict: an expectation or an import's precondition did not hold, or an
//	   idempotency key was reused
//	7  refused: it would destroy something and was not told to
//	8  it is not known whether the commit happened
//	9  not found
package main
