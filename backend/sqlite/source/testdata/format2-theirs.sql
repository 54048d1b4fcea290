-- after: format2.sql
-- A file of format 2 to which the original's program has added: versions of a type without their first commit, one of them without rows; rows in its text.
INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at) SELECT type_kind, type_name, 2, schema_json, schema_hash, created_at FROM schema_versions WHERE type_name = 'Draft' AND schema_version_id = 1;
INSERT INTO commits (created_at) VALUES ('2026-04-02T03:04:06.000000+00:00');
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Draft', 'theirs', '{"text": "Theirs \u00e9", "id": "theirs"}', (SELECT max(id) FROM commits), 2), ('Draft', 'd1', '{"text": "Theirs", "id": "d1"}', (SELECT max(id) FROM commits), NULL), ('Draft', 'nan', '{"id": "nan", "text": NaN}', (SELECT max(id) FROM commits), 2);
INSERT INTO schema_versions (type_kind, type_name, schema_version_id, schema_json, schema_hash, created_at) SELECT type_kind, type_name, 3, schema_json, schema_hash, created_at FROM schema_versions WHERE type_name = 'Draft' AND schema_version_id = 1;
