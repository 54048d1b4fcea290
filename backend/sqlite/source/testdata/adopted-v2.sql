PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE commits (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                created_at TEXT NOT NULL,
                metadata_json TEXT
            , runtime_id TEXT, actor_kind TEXT, actor_id TEXT, causation_id INTEGER, correlation_id TEXT, signature_ref TEXT, comment TEXT, idempotency_key TEXT, draft_hash TEXT, operations INTEGER);
INSERT INTO commits VALUES(1,'2026-11-15T19:25:26.270330+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(2,'2026-11-15T19:25:26.272108+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(3,'2026-11-15T19:25:26.273368+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(4,'2026-11-15T19:25:26.274540+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(5,'2026-11-15T19:25:26.275539+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(6,'2026-11-15T19:25:26.276577+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(7,'2026-11-16T08:00:01.250001+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(8,'2026-11-16T08:00:08.750007+00:00','{"n":1}','program of format 6','operator','ana',7,'x',NULL,'the first of ours','first','8be9de0f7d0bdec21732aa1eac88e472a9796ea608c092be37e0a29b5c4d5d24',4);
INSERT INTO commits VALUES(9,'2026-11-16T08:00:11.250009+00:00',NULL,'program of format 6','operator','ana',NULL,NULL,NULL,NULL,NULL,NULL,3);
INSERT INTO commits VALUES(10,'2026-11-16T08:00:12.500010+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(11,'2026-11-16T08:00:15.000012+00:00',NULL,'program of format 6',NULL,NULL,NULL,NULL,NULL,NULL,'second','93c0ae079727ad4792da76fb8408378bc3062c1550fb5bb588b1fc86e2a3a799',3);
INSERT INTO commits VALUES(12,'2026-11-16T08:00:16.250013+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(13,'2026-11-16T08:00:17.500014+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(14,'2026-11-16T08:00:25.000020+00:00',NULL,'vm-31907-VVTNCH',NULL,NULL,NULL,NULL,NULL,'migrate Note 1 → 2',NULL,NULL,2);
INSERT INTO commits VALUES(15,'2026-11-16T08:00:30.000024+00:00',NULL,'program of format 6',NULL,NULL,NULL,NULL,NULL,'ours at the end',NULL,NULL,2);
INSERT INTO commits VALUES(16,'2026-11-16T08:00:31.250025+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO commits VALUES(17,'2026-11-16T08:00:32.500026+00:00','{"namespace": "default"}',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE entity_history (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                entity_type TEXT NOT NULL,
                entity_key TEXT NOT NULL,
                fields_json TEXT NOT NULL,
                commit_id INTEGER NOT NULL, schema_version_id INTEGER, op TEXT NOT NULL DEFAULT 'put', onto_sum INTEGER,
                FOREIGN KEY (commit_id) REFERENCES commits(id)
            );
INSERT INTO entity_history VALUES(1,'Customer','c00','{"id": "c00", "name": "K\u00fcndin 0", "nick": "n0", "age": 20, "tags": [], "profile": {"city": "SF", "n": {"deep": 0}}, "balance": 0.0}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(2,'Customer','c01','{"id": "c01", "name": "K\u00fcndin 1", "nick": null, "age": 21, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 1}}, "balance": 0.1}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(3,'Customer','c02','{"id": "c02", "name": "K\u00fcndin 2", "nick": "n2", "age": 22, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 2}}, "balance": 0.2}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(4,'Customer','c03','{"id": "c03", "name": "K\u00fcndin 3", "nick": null, "age": 23, "tags": [], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 3}}, "balance": 0.30000000000000004}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(5,'Customer','c04','{"id": "c04", "name": "K\u00fcndin 4", "nick": "n4", "age": 24, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 4}}, "balance": 0.4}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(6,'Customer','c05','{"id": "c05", "name": "K\u00fcndin 5", "nick": null, "age": 25, "tags": ["x", "\u00ff"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 5}}, "balance": 0.5}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(7,'Customer','c06','{"id": "c06", "name": "K\u00fcndin 6", "nick": "n6", "age": 26, "tags": [], "profile": {"city": "SF", "n": {"deep": 6}}, "balance": 0.6000000000000001}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(8,'Customer','c07','{"id": "c07", "name": "K\u00fcndin 7", "nick": null, "age": 27, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 7}}, "balance": 0.7000000000000001}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(9,'Customer','c08','{"id": "c08", "name": "K\u00fcndin 8", "nick": "n8", "age": 28, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 8}}, "balance": 0.8}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(10,'Customer','c09','{"id": "c09", "name": "K\u00fcndin 9", "nick": null, "age": 29, "tags": [], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 9}}, "balance": 0.9}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(11,'Customer','c10','{"id": "c10", "name": "K\u00fcndin 10", "nick": "n10", "age": 30, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 10}}, "balance": 1.0}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(12,'Customer','c11','{"id": "c11", "name": "K\u00fcndin 11", "nick": null, "age": 31, "tags": ["x", "\u00ff"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 11}}, "balance": 1.1}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(13,'Customer','c12','{"id": "c12", "name": "K\u00fcndin 12", "nick": "n12", "age": 32, "tags": [], "profile": {"city": "SF", "n": {"deep": 12}}, "balance": 1.2000000000000002}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(14,'Customer','c13','{"id": "c13", "name": "K\u00fcndin 13", "nick": null, "age": 33, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 13}}, "balance": 1.3}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(15,'Customer','c14','{"id": "c14", "name": "K\u00fcndin 14", "nick": "n14", "age": 34, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 14}}, "balance": 1.4000000000000001}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(16,'Customer','c15','{"id": "c15", "name": "K\u00fcndin 15", "nick": null, "age": 35, "tags": [], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 15}}, "balance": 1.5}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(17,'Customer','c16','{"id": "c16", "name": "K\u00fcndin 16", "nick": "n16", "age": 36, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 16}}, "balance": 1.6}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(18,'Customer','c17','{"id": "c17", "name": "K\u00fcndin 17", "nick": null, "age": 37, "tags": ["x", "\u00ff"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 17}}, "balance": 1.7000000000000002}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(19,'Customer','c18','{"id": "c18", "name": "K\u00fcndin 18", "nick": "n18", "age": 38, "tags": [], "profile": {"city": "SF", "n": {"deep": 18}}, "balance": 1.8}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(20,'Customer','c19','{"id": "c19", "name": "K\u00fcndin 19", "nick": null, "age": 39, "tags": ["x"], "profile": {"city": "\u0141\u00f3d\u017a", "n": {"deep": 19}}, "balance": 1.9000000000000001}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(21,'Product','p0','{"sku": "p0", "price": 0.0}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(22,'Product','p1','{"sku": "p1", "price": 9.99}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(23,'Product','p2','{"sku": "p2", "price": 19.98}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(24,'Product','p3','{"sku": "p3", "price": 29.97}',1,1,'put',NULL);
INSERT INTO entity_history VALUES(25,'Customer','c00','{"id": "c00", "name": "K\u00fcndin 0", "nick": "n0", "age": 25, "tags": [], "profile": {"city": "SF", "n": {"deep": 0}}, "balance": 0.0}',2,1,'put',NULL);
INSERT INTO entity_history VALUES(26,'Customer','c04','{"id": "c04", "name": "K\u00fcndin 4", "nick": "n4", "age": 29, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 4}}, "balance": 0.4}',2,1,'put',NULL);
INSERT INTO entity_history VALUES(27,'Customer','c08','{"id": "c08", "name": "K\u00fcndin 8", "nick": "n8", "age": 33, "tags": ["x", "\u00ff"], "profile": {"city": "SF", "n": {"deep": 8}}, "balance": 0.8}',2,1,'put',NULL);
INSERT INTO entity_history VALUES(28,'Customer','c12','{"id": "c12", "name": "K\u00fcndin 12", "nick": "n12", "age": 37, "tags": [], "profile": {"city": "SF", "n": {"deep": 12}}, "balance": 1.2000000000000002}',2,1,'put',NULL);
INSERT INTO entity_history VALUES(29,'Customer','c16','{"id": "c16", "name": "K\u00fcndin 16", "nick": "n16", "age": 41, "tags": ["x"], "profile": {"city": "SF", "n": {"deep": 16}}, "balance": 1.6}',2,1,'put',NULL);
INSERT INTO entity_history VALUES(30,'Ratio','1.0','{"id": 1.0, "note": null}',5,1,'put',NULL);
INSERT INTO entity_history VALUES(31,'Ratio','2.5','{"id": 2.5, "note": "half"}',5,1,'put',NULL);
INSERT INTO entity_history VALUES(32,'Odd','plain','{"id": "plain", "value": {"v": 1}}',6,1,'put',NULL);
INSERT INTO entity_history VALUES(33,'Odd','big','{"id": "big", "value": {"v": 9223372036854775808}}',6,1,'put',NULL);
INSERT INTO entity_history VALUES(34,'Odd','nul','{"id": "nul", "value": {"v": "a\u0000b"}}',6,1,'put',NULL);
INSERT INTO entity_history VALUES(35,'Odd','nan','{"id": "nan", "value": {"v": NaN}}',6,1,'put',NULL);
INSERT INTO entity_history VALUES(36,'Customer','c20','{"name": "K\u00fcndin", "id": "c20", "nick": null, "age": 50, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}',7,1,'put',NULL);
INSERT INTO entity_history VALUES(37,'Note','a','{"id":"a","n":1,"text":"a note of ours"}',8,1,'put',2821078733);
INSERT INTO entity_history VALUES(38,'Product','p9','{"price":1,"sku":"p9"}',8,1,'put',1889260433);
INSERT INTO entity_history VALUES(39,'Ratio','1e+16','{"id":10000000000000000,"note":"big"}',8,1,'put',609791548);
INSERT INTO entity_history VALUES(40,'Ratio','7.0','{"id":7,"note":null}',8,1,'put',189177353);
INSERT INTO entity_history VALUES(41,'Customer','c03','{}',9,1,'delete',1616458288);
INSERT INTO entity_history VALUES(42,'Odd','nan','{}',9,1,'delete',35284927);
INSERT INTO entity_history VALUES(43,'Customer','c03','{"name": "K\u00fcndin", "id": "c03", "nick": null, "age": 51, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}',10,1,'put',NULL);
INSERT INTO entity_history VALUES(44,'Customer','c04','{"name": "K\u00fcndin", "id": "c04", "nick": null, "age": 52, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}',10,1,'put',NULL);
INSERT INTO entity_history VALUES(45,'Note','b','{"id":"b","n":2,"text":"second"}',11,1,'put',1189333877);
INSERT INTO entity_history VALUES(46,'Ratio','2.5','{"note": "changed", "id": 2.5}',12,1,'put',NULL);
INSERT INTO entity_history VALUES(47,'Odd','nul','{"id": "nul", "value": {"v": "mended", "a": [1.0, 1e3, -0.0]}}',12,1,'put',NULL);
INSERT INTO entity_history VALUES(48,'Product','p1','{"sku": "p1", "price": 10}',12,1,'put',NULL);
INSERT INTO entity_history VALUES(49,'Product','p0','{"sku": "p0", "price": 0.5, "title": "T0"}',13,2,'put',NULL);
INSERT INTO entity_history VALUES(50,'Product','p1','{"sku": "p1", "price": 1.5, "title": "T1"}',13,2,'put',NULL);
INSERT INTO entity_history VALUES(51,'Product','p2','{"sku": "p2", "price": 2.5, "title": "T2"}',13,2,'put',NULL);
INSERT INTO entity_history VALUES(52,'Product','p3','{"sku": "p3", "price": 3.5, "title": "T3"}',13,2,'put',NULL);
INSERT INTO entity_history VALUES(53,'Product','p9','{"sku": "p9", "price": 4.5, "title": "T4"}',13,2,'put',NULL);
INSERT INTO entity_history VALUES(54,'Note','a','{"id":"a","size":1,"text":"a note of ours"}',14,2,'put',672910289);
INSERT INTO entity_history VALUES(55,'Note','b','{"id":"b","size":2,"text":"second"}',14,2,'put',3944613734);
INSERT INTO entity_history VALUES(56,'Product','p0','{}',15,2,'delete',3689256807);
INSERT INTO entity_history VALUES(57,'Product','p10','{"price":3,"sku":"p10","title":"ours"}',15,2,'put',251752395);
INSERT INTO entity_history VALUES(58,'Customer','c21','{"name": "K\u00fcndin", "id": "c21", "nick": null, "age": 60, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}',16,1,'put',NULL);
INSERT INTO entity_history VALUES(59,'Odd','late','{"id": "late", "value": {"deep": [[[]]], "esc": "\ud83d\ude00"}}',16,1,'put',NULL);
INSERT INTO entity_history VALUES(60,'Odd','plain','{"id": "plain", "value": {"v": Infinity}}',16,1,'put',NULL);
INSERT INTO entity_history VALUES(61,'Customer','c21','{"name": "K\u00fcndin", "id": "c21", "nick": null, "age": 61, "tags": ["x"], "profile": {"city": "SF"}, "balance": 1.0}',17,1,'put',NULL);
INSERT INTO entity_history VALUES(62,'Customer','c22','{"id": "c22", "name": "no stamp", "age": 1, "tags": [], "profile": {}, "balance": 0}',17,NULL,'put',NULL);
CREATE TABLE relation_history (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                relation_type TEXT NOT NULL,
                left_key TEXT NOT NULL,
                right_key TEXT NOT NULL,
                fields_json TEXT NOT NULL,
                commit_id INTEGER NOT NULL, schema_version_id INTEGER, instance_key TEXT NOT NULL DEFAULT '', op TEXT NOT NULL DEFAULT 'put', onto_sum INTEGER,
                FOREIGN KEY (commit_id) REFERENCES commits(id)
            );
INSERT INTO relation_history VALUES(1,'Subscription','c00','p0','{"seats": 0}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(2,'Subscription','c01','p1','{"seats": 1}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(3,'Subscription','c02','p2','{"seats": 2}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(4,'Subscription','c03','p3','{"seats": 3}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(5,'Subscription','c04','p0','{"seats": 4}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(6,'Subscription','c05','p1','{"seats": 5}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(7,'Subscription','c06','p2','{"seats": 6}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(8,'Subscription','c07','p3','{"seats": 7}',3,1,'','put',NULL);
INSERT INTO relation_history VALUES(9,'Stint','c01','p1','{"role": "dev"}',3,1,'a','put',NULL);
INSERT INTO relation_history VALUES(10,'Stint','c01','p1','{"role": "lead"}',3,1,'b','put',NULL);
INSERT INTO relation_history VALUES(11,'Subscription','c01','p1','{"seats": 50}',4,1,'','put',NULL);
INSERT INTO relation_history VALUES(12,'Subscription','c03','p3','{}',9,1,'','delete',527679184);
INSERT INTO relation_history VALUES(13,'Subscription','c20','p1','{"seats": 20}',10,1,'','put',NULL);
INSERT INTO relation_history VALUES(14,'Stint','c20','p1','{"role": "ops"}',10,1,'x y','put',NULL);
INSERT INTO relation_history VALUES(15,'Stint','c20','p1','{"role":"ours"}',11,1,'z','put',4075232677);
INSERT INTO relation_history VALUES(16,'Subscription','c20','p1','{"seats":21}',11,1,'','put',2306999305);
CREATE TABLE schema_registry (
                type_kind TEXT NOT NULL,
                type_name TEXT NOT NULL,
                schema_json TEXT NOT NULL,
                PRIMARY KEY (type_kind, type_name)
            );
INSERT INTO schema_registry VALUES('entity','Customer','{"entity_name": "Customer", "fields": {"id": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "name": {"primary_key": false, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "nick": {"primary_key": false, "index": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}, "age": {"primary_key": false, "index": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}, "tags": {"primary_key": false, "index": false, "type": "list[str]", "type_spec": {"kind": "list", "item": {"kind": "primitive", "name": "str"}}}, "profile": {"primary_key": false, "index": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}, "balance": {"primary_key": false, "index": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}}}');
INSERT INTO schema_registry VALUES('entity','Product','{"entity_name": "Product", "fields": {"price": {"index": true, "primary_key": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "sku": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "title": {"index": false, "primary_key": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}}');
INSERT INTO schema_registry VALUES('entity','Ratio','{"entity_name": "Ratio", "fields": {"id": {"primary_key": true, "index": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "note": {"primary_key": false, "index": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}}}');
INSERT INTO schema_registry VALUES('entity','Odd','{"entity_name": "Odd", "fields": {"id": {"primary_key": true, "index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "value": {"primary_key": false, "index": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}}}');
INSERT INTO schema_registry VALUES('relation','Subscription','{"relation_name": "Subscription", "left_type": "Customer", "right_type": "Product", "instance_key_field": null, "fields": {"seats": {"index": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}}}');
INSERT INTO schema_registry VALUES('relation','Stint','{"relation_name": "Stint", "left_type": "Customer", "right_type": "Product", "instance_key_field": "stint_id", "fields": {"stint_id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "role": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}}');
INSERT INTO schema_registry VALUES('entity','Note','{"fields":{"id":{"type":"string"},"size":{"type":"float"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Note"}');
CREATE TABLE schema_versions (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                type_kind TEXT NOT NULL,
                type_name TEXT NOT NULL,
                schema_version_id INTEGER NOT NULL,
                schema_json TEXT NOT NULL,
                schema_hash TEXT NOT NULL,
                created_at TEXT NOT NULL,
                runtime_id TEXT,
                reason TEXT, onto_since INTEGER, onto_upgrader TEXT, onto_end TEXT,
                UNIQUE(type_kind, type_name, schema_version_id)
            );
INSERT INTO schema_versions VALUES(1,'entity','Customer',1,'{"entity_name": "Customer", "fields": {"age": {"index": false, "primary_key": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}, "balance": {"index": false, "primary_key": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "id": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "name": {"index": false, "primary_key": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "nick": {"index": false, "primary_key": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}, "profile": {"index": false, "primary_key": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}, "tags": {"index": false, "primary_key": false, "type": "list[str]", "type_spec": {"item": {"kind": "primitive", "name": "str"}, "kind": "list"}}}}','326da0ebaed0b0b277231eccf790bea6a474f4f56eb83ee610c007a20e600aa4','2026-11-15T19:25:26.265668+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(2,'entity','Product',1,'{"entity_name": "Product", "fields": {"price": {"index": false, "primary_key": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "sku": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}}','c40f7cffeb63ea01f4afec106af0e1459fecd5c5e44337a62db98da55ce8cdf1','2026-11-15T19:25:26.266403+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(3,'entity','Ratio',1,'{"entity_name": "Ratio", "fields": {"id": {"index": false, "primary_key": true, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "note": {"index": false, "primary_key": false, "type": "str | None", "type_spec": {"kind": "primitive", "name": "str | None"}}}}','76353ea540ffa921e2795170871012040958e623ad7e5859ec307cd20dc0ff54','2026-11-15T19:25:26.267041+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(4,'entity','Odd',1,'{"entity_name": "Odd", "fields": {"id": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "value": {"index": false, "primary_key": false, "type": "<class ''dict''>", "type_spec": {"kind": "primitive", "name": "dict"}}}}','dfb7c69aa951bc3a13c41177032b4dec39d94c5149e4ba045a7be0c9e8bff5eb','2026-11-15T19:25:26.267633+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(5,'relation','Subscription',1,'{"fields": {"seats": {"index": false, "type": "<class ''int''>", "type_spec": {"kind": "primitive", "name": "int"}}}, "instance_key_field": null, "left_type": "Customer", "relation_name": "Subscription", "right_type": "Product"}','b6b5716bce17b7bbcc233b1aa975e310429ab031f099fedb23705fc04bb7dd2b','2026-11-15T19:25:26.268237+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(6,'relation','Stint',1,'{"fields": {"role": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "stint_id": {"index": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}, "instance_key_field": "stint_id", "left_type": "Customer", "relation_name": "Stint", "right_type": "Product"}','739d30b4860a70a2716a16ffbd816198102bc99b9698c4d906542a9ea8ae72e2','2026-11-15T19:25:26.268842+00:00','1150a246-f941-4475-af4c-f83876fe4ab4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(7,'entity','Note',1,'{"fields":{"id":{"type":"string"},"n":{"index":true,"type":"int"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Note"}','ddb44d9327e45e89d1d1c7462ac6b83037d8c42dffec02a741993e8101b523d6','2026-11-16T08:00:06.250005+00:00','program of format 6','initial',8,NULL,NULL);
INSERT INTO schema_versions VALUES(8,'entity','Product',2,'{"entity_name": "Product", "fields": {"price": {"index": true, "primary_key": false, "type": "<class ''float''>", "type_spec": {"kind": "primitive", "name": "float"}}, "sku": {"index": false, "primary_key": true, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}, "title": {"index": false, "primary_key": false, "type": "<class ''str''>", "type_spec": {"kind": "primitive", "name": "str"}}}}','theirs','2026-11-16T09:00:00.000000+00:00','py','migration',13,NULL,NULL);
INSERT INTO schema_versions VALUES(9,'entity','Note',2,'{"fields":{"id":{"type":"string"},"size":{"type":"float"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Note"}','d27c1574f0ea72763beb417280bdf244910c1c63470885bd1c0697052fdef22b','2026-11-16T08:00:25.000020+00:00','vm-31907-VVTNCH','migration',14,'{"program":"if has(\"n\") then .[\"size\"] = .[\"n\"] | del(.[\"n\"]) else . end"}',NULL);
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
INSERT INTO type_layout_catalog VALUES('entity','Product',1,'entity_Product_v1',1,0,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('relation','Subscription',1,'relation_Subscription_v1',3,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('relation','Stint',1,'relation_Stint_v1',3,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('entity','Ratio',1,'entity_Ratio_v1',5,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('entity','Odd',1,'entity_Odd_v1',6,1,'2026-11-15 19:25:26');
INSERT INTO type_layout_catalog VALUES('entity','Note',1,'entity_Note_v1',8,0,'2026-11-18 21:36:52');
INSERT INTO type_layout_catalog VALUES('entity','Product',2,'entity_Product_v2',13,1,'2026-11-18 21:36:52');
INSERT INTO type_layout_catalog VALUES('entity','Note',2,'entity_Note_v2',14,1,'2026-11-18 21:36:52');
CREATE TABLE events (
                id TEXT PRIMARY KEY,
                namespace TEXT NOT NULL,
                type TEXT NOT NULL,
                payload TEXT NOT NULL,
                created_at TEXT NOT NULL,
                priority INTEGER NOT NULL DEFAULT 100,
                root_event_id TEXT NOT NULL,
                chain_depth INTEGER NOT NULL DEFAULT 0
            , onto_seq INTEGER, ordering_key TEXT, commit_id INTEGER, parent_event_id TEXT, replay_of TEXT, not_before TEXT);
INSERT INTO events VALUES('c4a0fd17-7013-4a97-a06e-df2ca2cac89b','billing','order.paid','{"amount": 0.0, "order": "o0"}','2026-11-15T19:25:26.279910+00:00',100,'c4a0fd17-7013-4a97-a06e-df2ca2cac89b',0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('1c61045e-833c-4053-9feb-1518c052ef33','billing','order.paid','{"amount": 1.0, "order": "o1"}','2026-11-15T19:25:26.280268+00:00',100,'1c61045e-833c-4053-9feb-1518c052ef33',0,2,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('3502d768-c2e9-4c24-8ce9-fd39e6274c88','billing','order.paid','{"amount": 2.0, "order": "o2"}','2026-11-15T19:25:26.280581+00:00',100,'3502d768-c2e9-4c24-8ce9-fd39e6274c88',0,3,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('eef27010-498d-4bc2-97ea-a01a73cbe3c0','billing','order.paid','{"amount": 3.0, "order": "o3"}','2026-11-15T19:25:26.280915+00:00',100,'eef27010-498d-4bc2-97ea-a01a73cbe3c0',0,4,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('5a9dd0e6-4ce5-402e-8770-7743d3d99cbf','billing','order.paid','{"amount": 4.0, "order": "o4"}','2026-11-15T19:25:26.281230+00:00',100,'5a9dd0e6-4ce5-402e-8770-7743d3d99cbf',0,5,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('846fc22f-57a9-4699-bff8-2c561bb1d248','billing','order.paid','{"amount": 5.0, "order": "o5"}','2026-11-15T19:25:26.281570+00:00',100,'846fc22f-57a9-4699-bff8-2c561bb1d248',0,6,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('e85cafcb-5b96-43ca-8aa3-4d3f8cef107a','billing','event.dead_letter','{"attempts": 2, "event_id": "3502d768-c2e9-4c24-8ce9-fd39e6274c88", "handler_id": "invoice", "last_error": "boom again"}','2026-11-15T19:25:26.284811+00:00',100,'3502d768-c2e9-4c24-8ce9-fd39e6274c88',1,7,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('10baebc9-54ce-49f2-bc0f-0c5ec308a8f7','billing','event.dead_letter','{"attempts": 2, "event_id": "eef27010-498d-4bc2-97ea-a01a73cbe3c0", "handler_id": "invoice", "last_error": "boom again"}','2026-11-15T19:25:26.285824+00:00',100,'eef27010-498d-4bc2-97ea-a01a73cbe3c0',1,8,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('148c863b-14ee-45b9-8625-1fd969cf4297','billing','event.dead_letter','{"attempts": 2, "event_id": "5a9dd0e6-4ce5-402e-8770-7743d3d99cbf", "handler_id": "invoice", "last_error": "boom again"}','2026-11-15T19:25:26.287639+00:00',100,'5a9dd0e6-4ce5-402e-8770-7743d3d99cbf',1,9,NULL,NULL,NULL,NULL,NULL);
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
                dead_lettered_at TEXT, deliveries INTEGER NOT NULL DEFAULT 0, onto_queued INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (event_id, handler_id)
            );
INSERT INTO event_claims VALUES('c4a0fd17-7013-4a97-a06e-df2ca2cac89b','invoice','s-one','2026-11-15T19:25:26.281885+00:00','2026-11-15T19:26:26.281893+00:00','2026-11-15T19:25:26.282428+00:00',0,'2000-01-01T00:00:00+00:00',NULL,NULL,0,0);
INSERT INTO event_claims VALUES('1c61045e-833c-4053-9feb-1518c052ef33','invoice','s-one','2026-11-15T19:25:26.281885+00:00','2026-11-15T19:26:26.281893+00:00',NULL,0,'2000-01-01T00:00:00+00:00',NULL,NULL,0,0);
INSERT INTO event_claims VALUES('3502d768-c2e9-4c24-8ce9-fd39e6274c88','invoice','s-one','2026-11-15T19:25:26.284348+00:00','2026-11-15T19:25:26.284656+00:00',NULL,2,'2000-01-01T00:00:00+00:00','boom again','2026-11-15T19:25:26.284656+00:00',0,0);
INSERT INTO event_claims VALUES('eef27010-498d-4bc2-97ea-a01a73cbe3c0','invoice','s-one','2026-11-15T19:25:26.285412+00:00','2026-11-15T19:25:26.285751+00:00',NULL,2,'2000-01-01T00:00:00+00:00','boom again','2026-11-15T19:25:26.285751+00:00',0,0);
INSERT INTO event_claims VALUES('5a9dd0e6-4ce5-402e-8770-7743d3d99cbf','invoice','s-one','2026-11-15T19:25:26.287262+00:00','2026-11-15T19:25:26.287572+00:00',NULL,2,'2026-11-15T19:25:26.287572+00:00','boom again','2026-11-15T19:25:26.287572+00:00',0,0);
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
            , deliveries INTEGER, event_created_at TEXT, priority INTEGER, ordering_key TEXT, commit_id INTEGER, parent_event_id TEXT, replay_of TEXT, not_before TEXT, resolved_at TEXT, resolution TEXT, resolved_by_kind TEXT, resolved_by TEXT, replay_event_id TEXT);
INSERT INTO dead_letters VALUES(1,'3502d768-c2e9-4c24-8ce9-fd39e6274c88','invoice','billing','2026-11-15T19:25:26.284656+00:00',2,'boom again','order.paid','{"amount": 2.0, "order": "o2"}','3502d768-c2e9-4c24-8ce9-fd39e6274c88',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO dead_letters VALUES(2,'eef27010-498d-4bc2-97ea-a01a73cbe3c0','invoice','billing','2026-11-15T19:25:26.285751+00:00',2,'boom again','order.paid','{"amount": 3.0, "order": "o3"}','eef27010-498d-4bc2-97ea-a01a73cbe3c0',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO dead_letters VALUES(3,'5a9dd0e6-4ce5-402e-8770-7743d3d99cbf','invoice','billing','2026-11-15T19:25:26.287572+00:00',2,'boom again','order.paid','{"amount": 4.0, "order": "o4"}','5a9dd0e6-4ce5-402e-8770-7743d3d99cbf',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sessions (
                session_id TEXT PRIMARY KEY,
                namespace TEXT NOT NULL,
                started_at TEXT NOT NULL,
                last_heartbeat TEXT NOT NULL,
                metadata TEXT
            );
INSERT INTO sessions VALUES('s-one','billing','2026-11-15T19:25:26.279122+00:00','2026-11-15T19:25:26.279122+00:00','{"host": "a"}');
CREATE TABLE onto_bus (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    last_at TEXT NOT NULL,
    special INTEGER NOT NULL DEFAULT 0
);
INSERT INTO onto_bus VALUES(1,9,'',9);
CREATE TABLE onto_event_queues (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    type TEXT NOT NULL,
    filled INTEGER NOT NULL,
    UNIQUE (namespace, handler_id, type)
);
CREATE TABLE onto_event_ready (
    queue INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (queue, rank, seq)
) WITHOUT ROWID;
CREATE TABLE onto_event_keys (
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    ordering_key TEXT NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (namespace, handler_id, ordering_key)
) WITHOUT ROWID;
CREATE TABLE onto_event_behind (
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    ordering_key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (namespace, handler_id, ordering_key, seq)
) WITHOUT ROWID;
CREATE TABLE onto_event_schedules (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    tick TEXT NOT NULL,
    PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
CREATE TABLE onto_positions (
    name TEXT PRIMARY KEY,
    commit_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE work_items (
    work_item_id TEXT PRIMARY KEY,
    source_system TEXT NOT NULL,
    source_name TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    request_uri TEXT NOT NULL,
    request_method TEXT NOT NULL,
    request_headers TEXT,
    request_body TEXT,
    metadata TEXT,
    priority INTEGER NOT NULL DEFAULT 100,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    run_id TEXT,
    discovered_from TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    error_message TEXT,
    dedupe_key TEXT NOT NULL,
    lease_owner TEXT,
    lease_until TEXT,
    not_before TEXT,
    depth INTEGER NOT NULL DEFAULT 0,
    onto_revised INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE work_attempts (
    attempt_id TEXT PRIMARY KEY,
    work_item_id TEXT NOT NULL,
    attempt_no INTEGER NOT NULL,
    worker TEXT NOT NULL,
    run_id TEXT,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    status TEXT NOT NULL,
    retry_after TEXT,
    error_message TEXT,
    failure_class TEXT,
    diagnostic_json TEXT,
    UNIQUE (work_item_id, attempt_no)
);
CREATE TABLE work_runs (
    run_id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    status TEXT NOT NULL,
    options_json TEXT,
    counts_json TEXT
);
CREATE TABLE onto_work_sources (
    source_system TEXT NOT NULL,
    source_name TEXT NOT NULL,
    free_at TEXT NOT NULL,
    PRIMARY KEY (source_system, source_name)
) WITHOUT ROWID;
CREATE TABLE onto_work (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_at TEXT NOT NULL
);
INSERT INTO onto_work VALUES(1,'');
CREATE TABLE entity_current (
    entity_type TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    PRIMARY KEY (entity_type, entity_key)
) WITHOUT ROWID;
INSERT INTO entity_current VALUES('Customer','c00',2,1,'put',1,X'cc51376167652332357762616c616e6365133027696437633030476e616d65974bc3bc6e64696e2030476e69636b276e307770726f66696c65cc124763697479275346176e7c4764656570133047746167730b');
INSERT INTO entity_current VALUES('Customer','c01',1,1,'put',1,X'cc52376167652332317762616c616e636535302e3127696437633031476e616d65974bc3bc6e64696e20317770726f66696c65cc17476369747977c581c3b364c5ba176e7c4764656570133147746167732b1778');
INSERT INTO entity_current VALUES('Customer','c02',1,1,'put',1,X'cc58376167652332327762616c616e636535302e3227696437633032476e616d65974bc3bc6e64696e2032476e69636b276e327770726f66696c65cc124763697479275346176e7c4764656570133247746167735b177827c3bf');
INSERT INTO entity_current VALUES('Customer','c03',10,1,'put',1,X'cc3e376167652335317762616c616e6365133127696437633033476e616d65774bc3bc6e64696e7770726f66696c658c476369747927534647746167732b1778');
INSERT INTO entity_current VALUES('Customer','c04',10,1,'put',1,X'cc3e376167652335327762616c616e6365133127696437633034476e616d65774bc3bc6e64696e7770726f66696c658c476369747927534647746167732b1778');
INSERT INTO entity_current VALUES('Customer','c05',1,1,'put',1,X'cc55376167652332357762616c616e636535302e3527696437633035476e616d65974bc3bc6e64696e20357770726f66696c65cc17476369747977c581c3b364c5ba176e7c4764656570133547746167735b177827c3bf');
INSERT INTO entity_current VALUES('Customer','c06',1,1,'put',1,X'cc63376167652332367762616c616e6365c512302e3630303030303030303030303030303127696437633036476e616d65974bc3bc6e64696e2036476e69636b276e367770726f66696c65cc124763697479275346176e7c4764656570133647746167730b');
INSERT INTO entity_current VALUES('Customer','c07',1,1,'put',1,X'cc62376167652332377762616c616e6365c512302e3730303030303030303030303030303127696437633037476e616d65974bc3bc6e64696e20377770726f66696c65cc17476369747977c581c3b364c5ba176e7c4764656570133747746167732b1778');
INSERT INTO entity_current VALUES('Customer','c08',2,1,'put',1,X'cc58376167652333337762616c616e636535302e3827696437633038476e616d65974bc3bc6e64696e2038476e69636b276e387770726f66696c65cc124763697479275346176e7c4764656570133847746167735b177827c3bf');
INSERT INTO entity_current VALUES('Customer','c09',1,1,'put',1,X'cc50376167652332397762616c616e636535302e3927696437633039476e616d65974bc3bc6e64696e20397770726f66696c65cc17476369747977c581c3b364c5ba176e7c4764656570133947746167730b');
INSERT INTO entity_current VALUES('Customer','c10',1,1,'put',1,X'cc56376167652333307762616c616e6365133127696437633130476e616d65a74bc3bc6e64696e203130476e69636b376e31307770726f66696c65cc134763697479275346176e8c476465657023313047746167732b1778');
INSERT INTO entity_current VALUES('Customer','c11',1,1,'put',1,X'cc57376167652333317762616c616e636535312e3127696437633131476e616d65a74bc3bc6e64696e2031317770726f66696c65cc18476369747977c581c3b364c5ba176e8c476465657023313147746167735b177827c3bf');
INSERT INTO entity_current VALUES('Customer','c12',2,1,'put',1,X'cc66376167652333377762616c616e6365c512312e3230303030303030303030303030303227696437633132476e616d65a74bc3bc6e64696e203132476e69636b376e31327770726f66696c65cc134763697479275346176e8c476465657023313247746167730b');
INSERT INTO entity_current VALUES('Customer','c13',1,1,'put',1,X'cc54376167652333337762616c616e636535312e3327696437633133476e616d65a74bc3bc6e64696e2031337770726f66696c65cc18476369747977c581c3b364c5ba176e8c476465657023313347746167732b1778');
INSERT INTO entity_current VALUES('Customer','c14',1,1,'put',1,X'cc6b376167652333347762616c616e6365c512312e3430303030303030303030303030303127696437633134476e616d65a74bc3bc6e64696e203134476e69636b376e31347770726f66696c65cc134763697479275346176e8c476465657023313447746167735b177827c3bf');
INSERT INTO entity_current VALUES('Customer','c15',1,1,'put',1,X'cc52376167652333357762616c616e636535312e3527696437633135476e616d65a74bc3bc6e64696e2031357770726f66696c65cc18476369747977c581c3b364c5ba176e8c476465657023313547746167730b');
INSERT INTO entity_current VALUES('Customer','c16',2,1,'put',1,X'cc58376167652334317762616c616e636535312e3627696437633136476e616d65a74bc3bc6e64696e203136476e69636b376e31367770726f66696c65cc134763697479275346176e8c476465657023313647746167732b1778');
INSERT INTO entity_current VALUES('Customer','c17',1,1,'put',1,X'cc67376167652333377762616c616e6365c512312e3730303030303030303030303030303227696437633137476e616d65a74bc3bc6e64696e2031377770726f66696c65cc18476369747977c581c3b364c5ba176e8c476465657023313747746167735b177827c3bf');
INSERT INTO entity_current VALUES('Customer','c18',1,1,'put',1,X'cc56376167652333387762616c616e636535312e3827696437633138476e616d65a74bc3bc6e64696e203138476e69636b376e31387770726f66696c65cc134763697479275346176e8c476465657023313847746167730b');
INSERT INTO entity_current VALUES('Customer','c19',1,1,'put',1,X'cc64376167652333397762616c616e6365c512312e3930303030303030303030303030303127696437633139476e616d65a74bc3bc6e64696e2031397770726f66696c65cc18476369747977c581c3b364c5ba176e8c476465657023313947746167732b1778');
INSERT INTO entity_current VALUES('Customer','c20',7,7,'put',1,X'cc3e376167652335307762616c616e6365133127696437633230476e616d65774bc3bc6e64696e7770726f66696c658c476369747927534647746167732b1778');
INSERT INTO entity_current VALUES('Note','a',14,8,'put',2,X'cc2127696417614773697a6513314774657874c70e61206e6f7465206f66206f757273');
INSERT INTO entity_current VALUES('Note','b',14,11,'put',2,X'cc1827696417624773697a6513324774657874677365636f6e64');
INSERT INTO entity_current VALUES('Odd','big',6,6,'put',1,NULL);
INSERT INTO entity_current VALUES('Odd','nan',9,6,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Odd','nul',12,6,'put',1,X'cc24276964376e756c5776616c7565cc1517619b1331433130303013301776676d656e646564');
INSERT INTO entity_current VALUES('Odd','plain',6,6,'put',1,X'cc1427696457706c61696e5776616c75654c17761331');
INSERT INTO entity_current VALUES('Product','p0',15,1,'delete',2,X'0c');
INSERT INTO entity_current VALUES('Product','p1',13,1,'put',2,X'cc1a57707269636535312e3537736b75277031577469746c65275431');
INSERT INTO entity_current VALUES('Product','p10',15,15,'put',2,X'cc1b577072696365133337736b7537703130577469746c65476f757273');
INSERT INTO entity_current VALUES('Product','p2',13,1,'put',2,X'cc1a57707269636535322e3537736b75277032577469746c65275432');
INSERT INTO entity_current VALUES('Product','p3',13,1,'put',2,X'cc1a57707269636535332e3537736b75277033577469746c65275433');
INSERT INTO entity_current VALUES('Product','p9',13,8,'put',2,X'cc1a57707269636535342e3537736b75277039577469746c65275434');
INSERT INTO entity_current VALUES('Ratio','1.0',5,5,'put',1,X'5c2769641331');
INSERT INTO entity_current VALUES('Ratio','1e+16',8,8,'put',1,X'cc1f276964c3113130303030303030303030303030303030476e6f746537626967');
INSERT INTO entity_current VALUES('Ratio','2.5',12,5,'put',1,X'cc1427696435322e35476e6f7465776368616e676564');
INSERT INTO entity_current VALUES('Ratio','7.0',8,8,'put',1,X'5c2769641337');
CREATE TABLE relation_current (
    relation_type TEXT NOT NULL,
    left_key TEXT NOT NULL,
    right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    PRIMARY KEY (relation_type, left_key, right_key, instance_key)
) WITHOUT ROWID;
INSERT INTO relation_current VALUES('Stint','c01','p1','a',3,3,'put',1,X'9c47726f6c6537646576');
INSERT INTO relation_current VALUES('Stint','c01','p1','b',3,3,'put',1,X'ac47726f6c65476c656164');
INSERT INTO relation_current VALUES('Stint','c20','p1','x y',10,10,'put',1,X'9c47726f6c65376f7073');
INSERT INTO relation_current VALUES('Stint','c20','p1','z',11,11,'put',1,X'ac47726f6c65476f757273');
INSERT INTO relation_current VALUES('Subscription','c00','p0','',3,3,'put',1,X'8c5773656174731330');
INSERT INTO relation_current VALUES('Subscription','c01','p1','',4,3,'put',1,X'9c577365617473233530');
INSERT INTO relation_current VALUES('Subscription','c02','p2','',3,3,'put',1,X'8c5773656174731332');
INSERT INTO relation_current VALUES('Subscription','c03','p3','',9,3,'delete',1,X'0c');
INSERT INTO relation_current VALUES('Subscription','c04','p0','',3,3,'put',1,X'8c5773656174731334');
INSERT INTO relation_current VALUES('Subscription','c05','p1','',3,3,'put',1,X'8c5773656174731335');
INSERT INTO relation_current VALUES('Subscription','c06','p2','',3,3,'put',1,X'8c5773656174731336');
INSERT INTO relation_current VALUES('Subscription','c07','p3','',3,3,'put',1,X'8c5773656174731337');
INSERT INTO relation_current VALUES('Subscription','c20','p1','',11,10,'put',1,X'9c577365617473233231');
CREATE TABLE onto_meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,
    store_id TEXT NOT NULL,
    foreign_until INTEGER NOT NULL,
    times_ordered INTEGER NOT NULL,
    derived INTEGER NOT NULL DEFAULT 0,
    checksum TEXT,
    checksum_commit INTEGER
);
INSERT INTO onto_meta VALUES(1,6,'583817df-a493-41e7-8209-47d429ddd26e',13,1,2,NULL,NULL);
CREATE TABLE onto_derived (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    field TEXT NOT NULL,
    purpose TEXT NOT NULL,
    UNIQUE (type_kind, type_name, purpose, field)
);
INSERT INTO onto_derived VALUES(2,'entity','Note','text','search');
CREATE TABLE onto_entity_past (
    entity_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (entity_type, until, since, history_id)
) WITHOUT ROWID;
INSERT INTO onto_entity_past VALUES('Customer',9,1,4);
INSERT INTO onto_entity_past VALUES('Note',14,8,37);
INSERT INTO onto_entity_past VALUES('Note',14,11,45);
INSERT INTO onto_entity_past VALUES('Odd',9,6,35);
INSERT INTO onto_entity_past VALUES('Product',15,13,49);
CREATE TABLE onto_relation_past (
    relation_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (relation_type, until, since, history_id)
) WITHOUT ROWID;
INSERT INTO onto_relation_past VALUES('Subscription',9,3,4);
INSERT INTO onto_relation_past VALUES('Subscription',11,10,13);
CREATE TABLE onto_leases (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL
);
INSERT INTO onto_leases VALUES('ontology_write',1);
CREATE TABLE onto_lease_breaks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    acquired_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    broken_at TEXT NOT NULL,
    runtime_id TEXT,
    actor_kind TEXT,
    actor_id TEXT,
    reason TEXT
);
CREATE TABLE fact_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fact_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    onto_sum INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
CREATE TABLE fact_current (
    fact_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    attribute TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    first_commit_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    schema_version_id INTEGER NOT NULL,
    fields BLOB,
    PRIMARY KEY (fact_type, subject, attribute, fact_id)
) WITHOUT ROWID;
CREATE TABLE onto_fact_past (
    fact_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (fact_type, until, since, history_id)
) WITHOUT ROWID;
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_2','onto_search_2',0,'CREATE VIRTUAL TABLE onto_search_2 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_2_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_2_content VALUES(37,'a note of ours');
INSERT INTO onto_search_2_content VALUES(45,'second');
CREATE TABLE IF NOT EXISTS 'onto_search_2_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_2_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_2_segdir VALUES(0,0,0,0,'0 34',X'0001610325020000046e6f74650325030000026f6603250400010375727303250500');
INSERT INTO onto_search_2_segdir VALUES(0,1,0,0,'0 12',X'00067365636f6e64032d0200');
CREATE TABLE IF NOT EXISTS 'onto_search_2_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_2_stat VALUES(0,X'020514');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('schema_versions',9);
INSERT INTO sqlite_sequence VALUES('commits',17);
INSERT INTO sqlite_sequence VALUES('entity_history',62);
INSERT INTO sqlite_sequence VALUES('relation_history',16);
INSERT INTO sqlite_sequence VALUES('dead_letters',3);
INSERT INTO sqlite_sequence VALUES('onto_derived',2);
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
CREATE INDEX onto_events_arrival ON events(namespace, type, onto_seq);
CREATE INDEX onto_events_foreign ON events(created_at, id) WHERE onto_seq IS NULL;
CREATE INDEX onto_events_commit ON events(commit_id, onto_seq) WHERE commit_id IS NOT NULL;
CREATE INDEX onto_event_claims_open ON event_claims(handler_id, max(lease_until, available_at))
    WHERE ack_at IS NULL AND dead_lettered_at IS NULL AND onto_queued = 0;
CREATE INDEX onto_dead_letters_event ON dead_letters(event_id);
CREATE INDEX ix_work_items_status ON work_items (status, priority, created_at);
CREATE UNIQUE INDEX ix_work_items_dedupe ON work_items (dedupe_key);
CREATE INDEX ix_work_items_run_id ON work_items (run_id);
CREATE INDEX onto_work_ready ON work_items(source_system, source_name, priority, created_at, work_item_id)
    WHERE status = 'pending' AND not_before IS NULL;
CREATE INDEX onto_work_run_ready ON work_items(run_id, source_system, source_name, priority, created_at, work_item_id)
    WHERE status = 'pending' AND not_before IS NULL AND run_id IS NOT NULL;
CREATE INDEX onto_work_due ON work_items(not_before)
    WHERE status = 'pending' AND not_before IS NOT NULL;
CREATE INDEX onto_work_leases ON work_items(lease_until) WHERE status = 'in_progress';
CREATE INDEX onto_work_running ON work_items(source_system, source_name) WHERE status = 'in_progress';
CREATE INDEX onto_work_parent ON work_items(discovered_from) WHERE discovered_from IS NOT NULL;
CREATE INDEX onto_entity_history_commit ON entity_history(commit_id);
CREATE INDEX onto_relation_history_commit ON relation_history(commit_id);
CREATE UNIQUE INDEX onto_commits_idempotency ON commits(idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX onto_relation_current_right ON relation_current(relation_type, right_key);
CREATE INDEX onto_fact_history_lookup
    ON fact_history(fact_type, subject, attribute, fact_id, commit_id DESC);
CREATE INDEX onto_fact_history_commit ON fact_history(commit_id);
CREATE INDEX onto_fact_current_attribute ON fact_current(fact_type, attribute, subject, fact_id);
PRAGMA writable_schema=OFF;
COMMIT;
