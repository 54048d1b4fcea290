-- after: tables.sql
-- A trigger and a view of others, a table of others, and a lock that is held.
INSERT INTO schema_registry VALUES ('entity', 'Person', '{"entity_name": "Person", "fields": {"id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": true}, "name": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": false}, "age": {"index": false, "type": "int | None", "type_spec": {"kind": "primitive", "name": "int | None"}, "primary_key": false}}}');
INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, runtime_id, reason) VALUES ('entity', 'Person', 1, '{"entity_name": "Person", "fields": {"id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": true}, "name": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": false}, "age": {"index": false, "type": "int | None", "type_spec": {"kind": "primitive", "name": "int | None"}, "primary_key": false}}}', 'x', '2025-01-01T00:00:00+00:00', 'py', 'initial');
CREATE TABLE audit (at TEXT);
CREATE TRIGGER spy AFTER INSERT ON entity_history BEGIN INSERT INTO audit VALUES ('now'); END;
CREATE VIEW people AS SELECT * FROM entity_history WHERE entity_type = 'Person';
INSERT INTO commits (id, created_at, metadata_json) VALUES (1, '2025-01-02T03:04:01.000000+00:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "A"}', 1, 1);
INSERT INTO locks VALUES ('ontology_write', 'python-7', '2025-01-01T00:00:00+00:00', '2099-01-01T00:00:00+00:00');
