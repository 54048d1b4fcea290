-- The oldest tables, without schema_version_id, instance_key, schema_versions and locks.
CREATE TABLE commits (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL, metadata_json TEXT);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, entity_type TEXT NOT NULL, entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_entity_history_lookup ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT, relation_type TEXT NOT NULL, left_key TEXT NOT NULL, right_key TEXT NOT NULL,
    fields_json TEXT NOT NULL, commit_id INTEGER NOT NULL, FOREIGN KEY (commit_id) REFERENCES commits(id));
CREATE INDEX idx_relation_history_lookup ON relation_history(relation_type, left_key, right_key, commit_id DESC);
CREATE TABLE schema_registry (type_kind TEXT NOT NULL, type_name TEXT NOT NULL, schema_json TEXT NOT NULL, PRIMARY KEY (type_kind, type_name));
INSERT INTO schema_registry VALUES ('entity', 'Customer', '{"entity_name": "Customer", "fields": {
    "id": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}},
    "name": {"primary_key": false, "index": false, "type": "<class ''str''>"},
    "age": {"primary_key": false, "index": true, "type": "typing.Optional[int]", "type_spec": {"kind": "union", "args": [{"kind": "primitive", "name": "int"}, {"kind": "primitive", "name": "NoneType"}]}},
    "tags": {"type": "list[str]", "type_spec": {"kind": "list", "item": {"kind": "primitive", "name": "str"}}},
    "odd": {"type": "<class ''decimal.Decimal''>", "type_spec": {"kind": "ref", "name": "Decimal"}}}}');
INSERT INTO schema_registry VALUES ('relation', 'Likes', '{"relation_name": "Likes", "left_type": "Customer", "right_type": "Customer", "instance_key_field": null, "fields": {}}');
INSERT INTO commits (created_at, metadata_json) VALUES ('2025-01-02T03:04:05+00:00', NULL);
INSERT INTO commits (created_at, metadata_json) VALUES ('2025-01-02T03:04:05.500000+00:00', '{"why": "birthday", "n": 9007199254740993}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id) VALUES
    ('Customer', 'c1', '{"name": "Ad\u00e9", "id": "c1", "age": null, "tags": ["x", "y"], "odd": "2"}', 1),
    ('Customer', 'c2', '{"name": "Bo", "id": "c2", "age": 40.0, "tags": [], "odd": "1.5"}', 1),
    ('Customer', 'c1', '{"name": "Ad\u00e9", "id": "c1", "age": 37, "tags": [], "odd": {"sign": 0, "n": null}}', 2);
INSERT INTO relation_history (relation_type, left_key, right_key, fields_json, commit_id) VALUES ('Likes', 'c1', 'c2', '{}', 2);
