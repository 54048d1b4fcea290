-- after: tables.sql
-- Metadata that no JSON object of ours is.
INSERT INTO schema_registry VALUES ('entity', 'Person', '{"entity_name": "Person", "fields": {"id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": true}, "name": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": false}, "age": {"index": false, "type": "int | None", "type_spec": {"kind": "primitive", "name": "int | None"}, "primary_key": false}}}');
INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at, runtime_id, reason) VALUES ('entity', 'Person', 1, '{"entity_name": "Person", "fields": {"id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": true}, "name": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}, "primary_key": false}, "age": {"index": false, "type": "int | None", "type_spec": {"kind": "primitive", "name": "int | None"}, "primary_key": false}}}', 'x', '2025-01-01T00:00:00+00:00', 'py', 'initial');
INSERT INTO commits (id, created_at, metadata_json) VALUES (1, '2025-01-02T03:04:01.000000+00:00', 'null');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N0"}', 1, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (2, '2025-01-02T03:04:02.000000+00:00', '[1]');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N1"}', 2, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (3, '2025-01-02T03:04:03.000000+00:00', '{bad');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N2"}', 3, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (4, '2025-01-02T03:04:04.000000+00:00', '{"x": NaN}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N3"}', 4, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (5, '2025-01-02T03:04:05.000000+00:00', '{"a\u0000": 1}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N4"}', 5, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (6, '2025-01-02T03:04:06.000000+00:00', '"text"');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N5"}', 6, 1);
INSERT INTO commits (id, created_at, metadata_json) VALUES (7, '2025-01-02T03:04:07.000000+00:00', '{"n": 9223372036854775808}');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "N6"}', 7, 1);
