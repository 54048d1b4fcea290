PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE commits (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                created_at TEXT NOT NULL,
                metadata_json TEXT
            );
INSERT INTO commits VALUES(1,'2026-11-15T19:25:26.270330+00:00','{"namespace": "default"}');
INSERT INTO commits VALUES(2,'2026-11-15T19:25:26.272108+00:00','{"namespace": "default"}');
INSERT INTO commits VALUES(3,'2026-11-15T19:25:26.273368+00:00','{"namespace": "default"}');
INSERT INTO commits VALUES(4,'2026-11-15T19:25:26.274540+00:00','{"namespace": "default"}');
INSERT INTO commits VALUES(5,'2026-11-15T19:25:26.275539+00:00','{"namespace": "default"}');
INSERT INTO commits VALUES(6,'2026-11-15T19:25:26.276577+00:00','{"namespace": "default"}');
CREATE TABLE entity_history (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                entity_type TEXT NOT NULL,
                entity_key TEXT NOT NULL,
                fields_json TEXT NOT NULL,
                commit_id INTEGER NOT NULL, schema_version_id INTEGER,
                FOREIGN KEY (commit_id) REFERENCES commits(id)
            );
INSERT INTO entity_history VALUES(1,'Customer','c00','{"id": "c00", "name": "K\u00fcndin 0", "nick": "n0", "age": 20, "tags": [], "profile": {"city": "SF", "n": {"deep": 0}}, "balance": 0.0}',1,1);
INSERT INTO entity_history VALUES(2,'Customer','c01','{"id": "c01", "name": "K\u00fcndin 1", "nick": null, "age": 21, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 1}}, "balance": 0.1}',1,1);
INSERT INTO entity_history VALUES(3,'Customer','c02','{"id": "c02", "name": "K\u00fcndin 2", "nick": "n2", "age": 22, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 2}}, "balance": 0.2}',1,1);
INSERT INTO entity_history VALUES(4,'Customer','c03','{"id": "c03", "name": "K\u00fcndin 3", "nick": null, "age": 23, "tags": [], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 3}}, "balance": 0.30000000000000004}',1,1);
INSERT INTO entity_history VALUES(5,'Customer','c04','{"id": "c04", "name": "K\u00fcndin 4", "nick": "n4", "age": 24, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 4}}, "balance": 0.4}',1,1);
INSERT INTO entity_history VALUES(6,'Customer','c05','{"id": "c05", "name": "K\u00fcndin 5", "nick": null, "age": 25, "tags": ["x", "\u00ff"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 5}}, "balance": 0.5}',1,1);
INSERT INTO entity_history VALUES(7,'Customer','c06','{"id": "c06", "name": "K\u00fcndin 6", "nick": "n6", "age": 26, "tags": [], "profile": {"city": "SF", "n": {"deep": 6}}, "balance": 0.6000000000000001}',1,1);
INSERT INTO entity_history VALUES(8,'Customer','c07','{"id": "c07", "name": "K\u00fcndin 7", "nick": null, "age": 27, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 7}}, "balance": 0.7000000000000001}',1,1);
INSERT INTO entity_history VALUES(9,'Customer','c08','{"id": "c08", "name": "K\u00fcndin 8", "nick": "n8", "age": 28, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 8}}, "balance": 0.8}',1,1);
INSERT INTO entity_history VALUES(10,'Customer','c09','{"id": "c09", "name": "K\u00fcndin 9", "nick": null, "age": 29, "tags": [], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 9}}, "balance": 0.9}',1,1);
INSERT INTO entity_history VALUES(11,'Customer','c10','{"id": "c10", "name": "K\u00fcndin 10", "nick": "n10", "age": 30, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 10}}, "balance": 1.0}',1,1);
INSERT INTO entity_history VALUES(12,'Customer','c11','{"id": "c11", "name": "K\u00fcndin 11", "nick": null, "age": 31, "tags": ["x", "\u00ff"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 11}}, "balance": 1.1}',1,1);
INSERT INTO entity_history VALUES(13,'Customer','c12','{"id": "c12", "name": "K\u00fcndin 12", "nick": "n12", "age": 32, "tags": [], "profile": {"city": "SF", "n": {"deep": 12}}, "balance": 1.2000000000000002}',1,1);
INSERT INTO entity_history VALUES(14,'Customer','c13','{"id": "c13", "name": "K\u00fcndin 13", "nick": null, "age": 33, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 13}}, "balance": 1.3}',1,1);
INSERT INTO entity_history VALUES(15,'Customer','c14','{"id": "c14", "name": "K\u00fcndin 14", "nick": "n14", "age": 34, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 14}}, "balance": 1.4000000000000001}',1,1);
INSERT INTO entity_history VALUES(16,'Customer','c15','{"id": "c15", "name": "K\u00fcndin 15", "nick": null, "age": 35, "tags": [], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 15}}, "balance": 1.5}',1,1);
INSERT INTO entity_history VALUES(17,'Customer','c16','{"id": "c16", "name": "K\u00fcndin 16", "nick": "n16", "age": 36, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 16}}, "balance": 1.6}',1,1);
INSERT INTO entity_history VALUES(18,'Customer','c17','{"id": "c17", "name": "K\u00fcndin 17", "nick": null, "age": 37, "tags": ["x", "\u00ff"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 17}}, "balance": 1.7000000000000002}',1,1);
INSERT INTO entity_history VALUES(19,'Customer','c18','{"id": "c18", "name": "K\u00fcndin 18", "nick": "n18", "age": 38, "tags": [], "profile": {"city": "SF", "n": {"deep": 18}}, "balance": 1.8}',1,1);
INSERT INTO entity_history VALUES(20,'Customer','c19','{"id": "c19", "name": "K\u00fcndin 19", "nick": null, "age": 39, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 19}}, "balance": 1.9000000000000001}',1,1);
INSERT INTO entity_history VALUES(21,'Product','p0','{"sku": "p0", "price": 0.0}',1,1);
INSERT INTO entity_history VALUES(22,'Product','p1','{"sku": "p1", "price": 9.99}',1,1);
INSERT INTO entity_history VALUES(23,'Product','p2','{"sku": "p2", "price": 19.98}',1,1);
INSERT INTO entity_history VALUES(24,'Product','p3','{"sku": "p3", "price": 29.97}',1,1);
INSERT INTO entity_history VALUES(25,'Customer','c00','{"id": "c00", "name": "K\u00fcndin 0", "nick": "n0", "age": 25, "tags": [], "profile": {"city": "SF", "n": {"deep": 0}}, "balance": 0.0}',2,1);
INSERT INTO entity_history VALUES(26,'Customer','c04','{"id": "c04", "name": "K\u00fcndin 4", "nick": "n4", "age": 29, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 4}}, "balance": 0.4}',2,1);
INSERT INTO entity_history VALUES(27,'Customer','c08','{"id": "c08", "name": "K\u00fcndin 8", "nick": "n8", "age": 33, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 8}}, "balance": 0.8}',2,1);
INSERT INTO entity_history VALUES(28,'Customer','c12','{"id": "c12", "name": "K\u00fcndin 12", "nick": "n12", "age": 37, "tags": [], "profile": {"city": "SF", "n": {"deep": 12}}, "balance": 1.2000000000000002}',2,1);
INSERT INTO entity_history VALUES(29,'Customer','c16','{"id": "c16", "name": "K\u00fcndin 16", "nick": "n16", "age": 41, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 16}}, "balance": 1.6}',2,1);
INSERT INTO entity_history VALUES(30,'Ratio','1.0','{"id": 1.0, "note": null}',5,1);
INSERT INTO entity_history VALUES(31,'Ratio','2.5','{"id": 2.5, "note": "half"}',5,1);
INSERT INTO entity_history VALUES(32,'Odd','plain','{"id": "plain", "value": {"v": 1}}',6,1);
INSERT INTO entity_history VALUES(33,'Odd','big','{"id": "big", "value": {"v": 9223372036854775808}}',6,1);
INSERT INTO entity_history VALUES(34,'Odd','nul','{"id": "nul", "value": {"v": "a\u0000b"}}',6,1);
INSERT INTO entity_history VALUES(35,'Odd','nan','{"id": "nan", "value": {"v": NaN}}',6,1);
CREATE TABLE relation_history (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                relation_type TEXT NOT NULL,
                left_key TEXT NOT NULL,
                right_key TEXT NOT NULL,
                fields_json TEXT NOT NULL,
                commit_id INTEGER NOT NULL, schema_version_id INTEGER, instance_key TEXT NOT NULL DEFAULT '',
                FOREIGN KEY (commit_id) REFERENCES commits(id)
            );
INSERT INTO relation_history VALUES(1,'Subscription','c00','p0','{"seats": 0}',3,1,'');
INSERT INTO relation_history VALUES(2,'Subscription','c01','p1','{"seats": 1}',3,1,'');
INSERT INTO relation_history VALUES(3,'Subscription','c02','p2','{"seats": 2}',3,1,'');
INSERT INTO relation_history VALUES(4,'Subscription','c03','p3','{"seats": 3}',3,1,'');
INSERT INTO relation_history VALUES(5,'Subscription','c04','p0','{"seats": 4}',3,1,'');
INSERT INTO relation_history VALUES(6,'Subscription','c05','p1','{"seats": 5}',3,1,'');
INSERT INTO relation_history VALUES(7,'Subscription','c06','p2','{"seats": 6}',3,1,'');
INSERT INTO relation_history VALUES(8,'Subscription','c07','p3','{"seats": 7}',3,1,'');
INSERT INTO relation_history VALUES(9,'Stint','c01','p1','{"role": "dev"}',3,1,'a');
INSERT INTO relation_history VALUES(10,'Stint','c01','p1','{"role": "lead"}',3,1,'b');
INSERT INTO relation_history VALUES(11,'Subscription','c01','p1','{"seats": 50}',4,1,'');
CREATE TABLE schema_registry (
                type_kind TEXT NOT NULL,
                type_name TEXT NOT NULL,
                schema_json TEXT NOT NULL,
                PRIMARY KEY (type_kind, type_name)
            );
INSERT INTO schema_registry VALUES('entity','Customer','{"entity_name": "Customer", "fields": {"id": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "name": {"primary_key": false, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "nick": {"primary_key": false, "index": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}, "age": {"primary_key": false, "index": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}, "tags": {"primary_key": false, "index": false, "type": "list[str]", "type_spec": {"kind": "list", "item": {"kind": "primitive", "name": "str"}}}, "profile": {"primary_key": false, "index": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}, "balance": {"primary_key": false, "index": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}}}');
INSERT INTO schema_registry VALUES('entity','Product','{"entity_name": "Product", "fields": {"sku": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "price": {"primary_key": false, "index": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}}}');
INSERT INTO schema_registry VALUES('entity','Ratio','{"entity_name": "Ratio", "fields": {"id": {"primary_key": true, "index": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "note": {"primary_key": false, "index": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}}}');
INSERT INTO schema_registry VALUES('entity','Odd','{"entity_name": "Odd", "fields": {"id": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "value": {"primary_key": false, "index": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}}}');
INSERT INTO schema_registry VALUES('relation','Subscription','{"relation_name": "Subscription", "left_type": "Customer", "right_type": "Product", "instance_key_field": null, "fields": {"seats": {"index": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}}}');
INSERT INTO schema_registry VALUES('relation','Stint','{"relation_name": "Stint", "left_type": "Customer", "right_type": "Product", "instance_key_field": "stint_id", "fields": {"stint_id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "role": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}}');
CREATE TABLE schema_versions (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                type_kind TEXT NOT NULL,
                type_name TEXT NOT NULL,
                schema_version_id INTEGER NOT NULL,
                schema_json TEXT NOT NULL,
                schema_hash TEXT NOT NULL,
                created_at TEXT NOT NULL,
                runtime_id TEXT,
                reason TEXT,
                UNIQUE(type_kind, type_name, schema_version_id)
            );
INSERT INTO schema_versions VALUES(1,'entity','Customer',1,'{"entity_name": "Customer", "fields": {"age": {"index": false, "primary_key": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}, "balance": {"index": false, "primary_key": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "id": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "name": {"index": false, "primary_key": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "nick": {"index": false, "primary_key": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}, "profile": {"index": false, "primary_key": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}, "tags": {"index": false, "primary_key": false, "type": "list[str]", "type_spec": {"item": {"kind": "primitive", "name": "str"}, "kind": "list"}}}}','326da0ebaed0b0b277231eccf790bea6a474f4f56eb83ee610c007a20e600aa4','2026-11-15T19:25:26.265668+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial');
INSERT INTO schema_versions VALUES(2,'entity','Product',1,'{"entity_name": "Product", "fields": {"price": {"index": false, "primary_key": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "sku": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}}','c40f7cffeb63ea01f4afec106af0e1459fecd5c5e44337a62db98da55ce8cdf1','2026-11-15T19:25:26.266403+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial');
INSERT INTO schema_versions VALUES(3,'entity','Ratio',1,'{"entity_name": "Ratio", "fields": {"id": {"index": false, "primary_key": true, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "note": {"index": false, "primary_key": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}}}','76353ea540ffa921e2795170871012040958e623ad7e5859ec307cd20dc0ff54','2026-11-15T19:25:26.267041+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial');
INSERT INTO schema_versions VALUES(4,'entity','Odd',1,'{"entity_name": "Odd", "fields": {"id": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "value": {"index": false, "primary_key": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}}}','dfb7c69aa951bc3a13c41177032b4dec39d94c5149e4ba045a7be0c9e8bff5eb','2026-11-15T19:25:26.267633+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial');
INSERT INTO schema_versions VALUES(5,'relation','Subscription',1,'{"fields": {"seats": {"index": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}}, "instance_key_field": null, "left_type": "Customer", "relation_name": "Subscription", "right_type": "Product"}','b6b5716bce17b7bbcc233b1aa975e310429ab031f099fedb23705fc04bb7dd2b','2026-11-15T19:25:26.268237+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial');
INSERT INTO schema_versions VALUES(6,'relation','Stint',1,'{"fields": {"role": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "stint_id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}, "instance_key_field": "stint_id", "left_type": "Customer", "relation_name": "Stint", "right_type": "Product"}','739d30b4860a70a2716a16ffbd816198102bc99b9698c4d906542a9ea8ae72e2','2026-11-15T19:25:26.268842+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial');
CREATE TABLE locks (
                lock_name TEXT PRIMARY KEY,
                owner_id TEXT NOT NULL,
                acquired_at TEXT NOT NULL,
                expires_at TEXT NOT NULL
            );
CREATE TABLE storage_meta (
                key   TEXT PRIMARY KEY,
                value TEXT NOT NULL
            );
INSERT INTO storage_meta VALUES('engine_version','v2');
INSERT INTO storage_meta VALUES('backend','sqlite');
CREATE TABLE type_layout_catalog (
                type_kind             TEXT NOT NULL,
                type_name             TEXT NOT NULL,
                schema_version_id     INTEGER NOT NULL,
                table_name            TEXT NOT NULL,
                activation_commit_id  INTEGER NOT NULL,
                is_current            INTEGER NOT NULL DEFAULT 0,
                created_at            TEXT NOT NULL DEFAULT (datetime('now')),
                PRIMARY KEY (type_kind, type_name, schema_version_id)
            );
INSERT INTO type_layout_catalog VALUES('entity','Customer',1,'entity_Customer_v1',1,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('entity','Product',1,'entity_Product_v1',1,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('relation','Subscription',1,'relation_Subscription_v1',3,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('relation','Stint',1,'relation_Stint_v1',3,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('entity','Ratio',1,'entity_Ratio_v1',5,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('entity','Odd',1,'entity_Odd_v1',6,1,'2026-11-15 19:25:26');
CREATE TABLE events (
                id TEXT PRIMARY KEY,
                namespace TEXT NOT NULL,
                type TEXT NOT NULL,
                payload TEXT NOT NULL,
                created_at TEXT NOT NULL,
                priority INTEGER NOT NULL DEFAULT 100,
                root_event_id TEXT NOT NULL,
                chain_depth INTEGER NOT NULL DEFAULT 0
            );
INSERT INTO events VALUES('c4a0fd17-7013-4a97-a06e-df2ca2cac89b','billing','order.paid','{"amount": 0.0, "order": "o0"}','2026-11-15T19:25:26.279910+00:00',100,'c4a0fd17-7013-4a97-a06e-df2ca2cac89b',0);
INSERT INTO events VALUES('1c61045e-833c-4053-9feb-1518c052ef33','billing','order.paid','{"amount": 1.0, "order": "o1"}','2026-11-15T19:25:26.280268+00:00',100,'1c61045e-833c-4053-9feb-1518c052ef33',0);
INSERT INTO events VALUES('3502d768-c2e9-4c24-8ce9-fd39e6274c88','billing','order.paid','{"amount": 2.0, "order": "o2"}','2026-11-15T19:25:26.280581+00:00',100,'3502d768-c2e9-4c24-8ce9-fd39e6274c88',0);
INSERT INTO events VALUES('eef27010-498d-4bc2-97ea-a01a73cbe3c0','billing','order.paid','{"amount": 3.0, "order": "o3"}','2026-11-15T19:25:26.280915+00:00',100,'eef27010-498d-4bc2-97ea-a01a73cbe3c0',0);
INSERT INTO events VALUES('5a9dd0e6-4ce5-402e-8770-7743d3d99cbf','billing','order.paid','{"amount": 4.0, "order": "o4"}','2026-11-15T19:25:26.281230+00:00',100,'5a9dd0e6-4ce5-402e-8770-7743d3d99cbf',0);
INSERT INTO events VALUES('846fc22f-57a9-4699-bff8-2c561bb1d248','billing','order.paid','{"amount": 5.0, "order": "o5"}','2026-11-15T19:25:26.281570+00:00',100,'846fc22f-57a9-4699-bff8-2c561bb1d248',0);
INSERT INTO events VALUES('e85cafcb-5b96-43ca-8aa3-4d3f8cef107a','billing','event.dead_letter','{"attempts": 2, "event_id": "3502d768-c2e9-4c24-8ce9-fd39e6274c88", "handler_id": "invoice", "last_error": "boom again"}','2026-11-15T19:25:26.284811+00:00',100,'3502d768-c2e9-4c24-8ce9-fd39e6274c88',1);
INSERT INTO events VALUES('10baebc9-54ce-49f2-bc0f-0c5ec308a8f7','billing','event.dead_letter','{"attempts": 2, "event_id": "eef27010-498d-4bc2-97ea-a01a73cbe3c0", "handler_id": "invoice", "last_error": "boom again"}','2026-11-15T19:25:26.285824+00:00',100,'eef27010-498d-4bc2-97ea-a01a73cbe3c0',1);
INSERT INTO events VALUES('148c863b-14ee-45b9-8625-1fd969cf4297','billing','event.dead_letter','{"attempts": 2, "event_id": "5a9dd0e6-4ce5-402e-8770-7743d3d99cbf", "handler_id": "invoice", "last_error": "boom again"}','2026-11-15T19:25:26.287639+00:00',100,'5a9dd0e6-4ce5-402e-8770-7743d3d99cbf',1);
CREATE TABLE event_claims (
                event_id TEXT NOT NULL,
                handler_id TEXT NOT NULL,
                session_id TEXT NOT NULL,
                claimed_at TEXT NOT NULL,
                lease_until TEXT NOT NULL,
                ack_at TEXT,
                attempts INTEGER NOT NULL DEFAULT 0,
                available_at TEXT NOT NULL,
                last_error TEXT,
                dead_lettered_at TEXT,
                PRIMARY KEY (event_id, handler_id)
            );
INSERT INTO event_claims VALUES('c4a0fd17-7013-4a97-a06e-df2ca2cac89b','invoice','s-one','2026-11-15T19:25:26.281885+00:00','2026-11-15T19:26:26.281893+00:00','2026-11-15T19:25:26.282428+00:00',0,'2000-01-01T00:00:00+00:00',NULL,NULL);
INSERT INTO event_claims VALUES('1c61045e-833c-4053-9feb-1518c052ef33','invoice','s-one','2026-11-15T19:25:26.281885+00:00','2026-11-15T19:26:26.281893+00:00',NULL,0,'2000-01-01T00:00:00+00:00',NULL,NULL);
INSERT INTO event_claims VALUES('3502d768-c2e9-4c24-8ce9-fd39e6274c88','invoice','s-one','2026-11-15T19:25:26.284348+00:00','2026-11-15T19:25:26.284656+00:00',NULL,2,'2000-01-01T00:00:00+00:00','boom again','2026-11-15T19:25:26.284656+00:00');
INSERT INTO event_claims VALUES('eef27010-498d-4bc2-97ea-a01a73cbe3c0','invoice','s-one','2026-11-15T19:25:26.285412+00:00','2026-11-15T19:25:26.285751+00:00',NULL,2,'2000-01-01T00:00:00+00:00','boom again','2026-11-15T19:25:26.285751+00:00');
INSERT INTO event_claims VALUES('5a9dd0e6-4ce5-402e-8770-7743d3d99cbf','invoice','s-one','2026-11-15T19:25:26.287262+00:00','2026-11-15T19:25:26.287572+00:00',NULL,2,'2026-11-15T19:25:26.287572+00:00','boom again','2026-11-15T19:25:26.287572+00:00');
CREATE TABLE dead_letters (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                event_id TEXT NOT NULL,
                handler_id TEXT NOT NULL,
                namespace TEXT NOT NULL,
                failed_at TEXT NOT NULL,
                attempts INTEGER NOT NULL,
                last_error TEXT NOT NULL,
                event_type TEXT NOT NULL,
                event_payload TEXT NOT NULL,
                root_event_id TEXT NOT NULL,
                chain_depth INTEGER NOT NULL
            );
INSERT INTO dead_letters VALUES(1,'3502d768-c2e9-4c24-8ce9-fd39e6274c88','invoice','billing','2026-11-15T19:25:26.284656+00:00',2,'boom again','order.paid','{"amount": 2.0, "order": "o2"}','3502d768-c2e9-4c24-8ce9-fd39e6274c88',0);
INSERT INTO dead_letters VALUES(2,'eef27010-498d-4bc2-97ea-a01a73cbe3c0','invoice','billing','2026-11-15T19:25:26.285751+00:00',2,'boom again','order.paid','{"amount": 3.0, "order": "o3"}','eef27010-498d-4bc2-97ea-a01a73cbe3c0',0);
INSERT INTO dead_letters VALUES(3,'5a9dd0e6-4ce5-402e-8770-7743d3d99cbf','invoice','billing','2026-11-15T19:25:26.287572+00:00',2,'boom again','order.paid','{"amount": 4.0, "order": "o4"}','5a9dd0e6-4ce5-402e-8770-7743d3d99cbf',0);
CREATE TABLE sessions (
                session_id TEXT PRIMARY KEY,
                namespace TEXT NOT NULL,
                started_at TEXT NOT NULL,
                last_heartbeat TEXT NOT NULL,
                metadata TEXT
            );
INSERT INTO sessions VALUES('s-one','billing','2026-11-15T19:25:26.279122+00:00','2026-11-15T19:25:26.279122+00:00','{"host": "a"}');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('schema_versions',6);
INSERT INTO sqlite_sequence VALUES('commits',6);
INSERT INTO sqlite_sequence VALUES('entity_history',35);
INSERT INTO sqlite_sequence VALUES('relation_history',11);
INSERT INTO sqlite_sequence VALUES('dead_letters',3);
CREATE INDEX idx_entity_history_lookup
                ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE INDEX idx_relation_history_lookup ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
CREATE INDEX idx_events_namespace_type_order
                ON events(namespace, type, priority DESC, created_at ASC, id ASC);
CREATE INDEX idx_event_claims_handler_state
                ON event_claims(handler_id, ack_at, dead_lettered_at, lease_until, available_at);
CREATE INDEX idx_event_claims_event
                ON event_claims(event_id);
CREATE INDEX idx_dead_letters_namespace_failed
                ON dead_letters(namespace, failed_at DESC);
CREATE INDEX idx_sessions_heartbeat
                ON sessions(last_heartbeat);
CREATE INDEX idx_sessions_namespace
                ON sessions(namespace);
COMMIT;
