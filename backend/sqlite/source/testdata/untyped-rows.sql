-- after: tables.sql
-- Rows of types that no table of schemas knows.
INSERT INTO commits (id, created_at, metadata_json) VALUES (1, '2025-01-02T03:04:01.000000+00:00', NULL);
INSERT INTO entity_history (entity_type, entity_key, fields_json, commit_id, schema_version_id) VALUES ('Person', 'a', '{"id": "a", "name": "A"}', 1, NULL);
INSERT INTO relation_history (relation_type, left_key, right_key, instance_key, fields_json, commit_id, schema_version_id) VALUES ('Knows', 'a', 'a', '', '{}', 1, NULL);
