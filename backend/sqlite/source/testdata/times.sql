-- after: tables.sql
-- Times that go back, are equal, of other zones and with more or fewer digits.
INSERT INTO schema_registry VALUES ('entity', 'Person', '{"entity_name": "Person", "fields": {"id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": true}, "name": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": false}, "age": {"index": false, "type": "int | None", "type_spec": {"kind": "primitive", "name": "int | None"}, "primary_key": false}}}');
INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, runtime_id, reason) VALUES ('entity', 'Person', 1, '{"entity_name": "Person", "fields": {"id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": true}, "name": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": false}, "age": {"index": false, "type": "int | None", "type_spec": {"kind": "primitive", "name": "int | None"}, "primary_key": false}}}', 'x', '2025-01-01T00:00:00+00:00', 'py', 'initial');
INSERT INTO commits (id, created_at, metadata_json) VALUES (1, '2025-01-02T03:04:05+00:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N0"}', 1, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (2, '2025-01-02T03:04:05.500000+00:00', '{"n": 1}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N1"}', 2, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (3, '2025-01-02T03:04:05.100000+00:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N2"}', 3, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (4, '2025-01-02T03:04:05.100000+00:00', '{"n": 3}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N3"}', 4, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (5, '2025-01-02T05:04:06+02:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N4"}', 5, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (6, '2025-01-02T03:04:07Z', '{"n": 5}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N5"}', 6, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (7, '2024-12-31T23:59:59.999999+00:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N6"}', 7, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (8, '2025-01-02T03:04:08.1234567+00:00', '{"n": 7}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N7"}', 8, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (9, '2025-06-01T00:00:00+00:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N8"}', 9, 1);
