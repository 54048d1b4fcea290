-- The tables of the original's first engine as it documents them.
CREATE TABLE commits (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, metadata_json TEXT);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, entity_type TEXT NOT NULL, entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, schema_version_id INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_entity_history_lookup ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, relation_type TEXT NOT NULL, left_key TEXT NOT NULL, right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL DEFAULT '', fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, schema_version_id INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_relation_history_lookup ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
CREATE TABLE schema_registry (type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_json TEXT NOT NULL, PRIMARY KEY (type_kind, type_name));
CREATE TABLE schema_versions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_version_id INTEGER NOT NULL,
    schema_json TEXT NOT NULL, schema_hash TEXT NOT NULL, created_at TEXT NOT NULL, runtime_id TEXT, reason TEXT,
    UNIQUE(type_kind, type_name, schema_version_id));
CREATE TABLE locks (lock_name TEXT PRIMARY KEY, owner_id TEXT NOT NULL, acquired_at TEXT NOT NULL, expires_at TEXT NOT NULL);
