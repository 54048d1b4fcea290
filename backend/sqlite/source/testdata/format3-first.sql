PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE commits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at TEXT NOT NULL,
    metadata_json TEXT,
    runtime_id TEXT,
    actor_kind TEXT,
    actor_id TEXT,
    causation_id INTEGER,
    correlation_id TEXT,
    signature_ref TEXT,
    comment TEXT,
    idempotency_key TEXT,
    draft_hash TEXT,
    operations INTEGER
);
INSERT INTO commits VALUES(1,'2026-03-01T08:00:12.500010+00:00','{"big":9007199254740993,"half":0.5,"list":[1,"zwei",null,true],"ü":{"a":" <&>"}}','program of format 3','operator','ana',NULL,'corr-1','sig:abc',replace('import of the customers\nin two lines','\n',char(10)),NULL,NULL,5);
INSERT INTO commits VALUES(2,'2026-03-01T08:00:13.750011+00:00',NULL,'program of format 3','operator','ana',1,'corr-1',NULL,NULL,'products-1','c00ef97b8d4ff7d470f979ceaba3f0d2faa3a39bbd5926e933265de98442ddf1',4);
INSERT INTO commits VALUES(3,'2026-03-01T08:00:15.000012+00:00','{"source":"web"}','program of format 3','daemon','shop',NULL,NULL,NULL,NULL,'orders/1 ü','9d24fede91230d7b92fcf77a79f455e850f25ed0f17ce1f0f749763cf504c7cf',7);
INSERT INTO commits VALUES(4,'2026-03-01T08:00:18.750015+00:00',NULL,'program of format 3','daemon','shop',3,NULL,NULL,NULL,NULL,NULL,3);
INSERT INTO commits VALUES(5,'2026-03-01T08:00:20.000016+00:00',NULL,'program of format 3',NULL,NULL,NULL,NULL,NULL,'an anonymous one',NULL,NULL,9);
INSERT INTO commits VALUES(6,'2026-03-01T08:00:21.250017+00:00',NULL,'program of format 3','operator','ana',NULL,NULL,NULL,NULL,NULL,NULL,2);
INSERT INTO commits VALUES(7,'2026-03-01T08:00:22.500018+00:00',NULL,'program of format 3','remote','lister',NULL,NULL,NULL,'odd keys',NULL,NULL,28);
INSERT INTO commits VALUES(8,'2026-03-01T08:00:23.750019+00:00',NULL,'program of format 3','daemon','loop',NULL,'loop-0',NULL,NULL,'loop-0','0dd25f9cec7ecf4544a35e1e85bd5d2c8b8499506cd2233343fa6bf796f1b3c6',2);
INSERT INTO commits VALUES(9,'2026-03-01T08:00:25.000020+00:00',NULL,'program of format 3','daemon','loop',1,'loop-1',NULL,NULL,'loop-1','54cbae5a3aa04f13049d80c06634d4e3bc215099351a8c498be7c04fee6fd48b',2);
INSERT INTO commits VALUES(10,'2026-03-01T08:00:26.250021+00:00',NULL,'program of format 3','daemon','loop',2,'loop-0',NULL,NULL,'loop-2','727702add2e49668e70d2769fbbe49cce40698028633ef71daf7512a5f850a24',2);
INSERT INTO commits VALUES(11,'2026-03-01T08:00:27.500022+00:00',NULL,'program of format 3','daemon','loop',3,'loop-1',NULL,NULL,'loop-3','63c7406d6398af42cde7436e83ec983a4e250c9fc03957f39029187bfb45684f',2);
INSERT INTO commits VALUES(12,'2026-03-01T08:00:28.750023+00:00',NULL,'program of format 3','daemon','loop',4,'loop-0',NULL,NULL,'loop-4','2c5c15f3662f0910f58a62d3f9dff148db3950d00286f796347cc5436c458199',2);
INSERT INTO commits VALUES(13,'2026-03-01T08:00:30.000024+00:00',NULL,'program of format 3','daemon','loop',5,'loop-1',NULL,NULL,'loop-5','eb48be39a69236a15a857376877ae5ce05445ac172220a6d80d333fe8eab6454',2);
INSERT INTO commits VALUES(14,'2026-03-01T08:00:31.250025+00:00',NULL,'program of format 3',NULL,NULL,NULL,NULL,NULL,'all of a type',NULL,NULL,3);
INSERT INTO commits VALUES(15,'2026-03-01T08:00:32.500026+00:00',NULL,'program of format 3',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entity_type TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
INSERT INTO entity_history VALUES(1,'Customer','c1','{"active":false,"age":21,"id":"c1","joined":"2025-01-01T12:00:00.123456+00:00","name":"Ada Lovelace","profile":{"city":"SF","n":1},"score":1.5,"tags":["t1","all"],"tier":"Silver"}',1,1,'put');
INSERT INTO entity_history VALUES(2,'Customer','c2','{"active":true,"age":22,"id":"c2","joined":"2025-01-02T12:00:00.123456+00:00","name":"Bob","profile":{"city":"Köln","n":2},"score":3,"tags":["t0","all"],"tier":"Gold"}',1,1,'put');
INSERT INTO entity_history VALUES(3,'Customer','c3','{"active":false,"age":23,"id":"c3","joined":"2025-01-03T12:00:00.123456+00:00","name":"Cy \"Quote\" \\ Back","profile":{"city":"SF","n":3},"score":4.5,"tags":["t1","all"],"tier":"Bronze"}',1,1,'put');
INSERT INTO entity_history VALUES(4,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe ☃ 😀","profile":{"city":"Köln","n":4},"score":6,"tags":["t0","all"],"tier":"Silver"}',1,1,'put');
INSERT INTO entity_history VALUES(5,'Customer','c5','{"active":false,"age":25,"id":"c5","joined":"2025-01-05T12:00:00.123456+00:00","name":"","profile":{"city":"SF","n":5},"score":7.5,"tags":["t1","all"],"tier":"Gold"}',1,1,'put');
INSERT INTO entity_history VALUES(6,'Product','p1','{"price":9.99,"sku":"p1","stock":3,"title":"A plain lamp"}',2,1,'put');
INSERT INTO entity_history VALUES(7,'Product','p2','{"price":10000000000000000,"sku":"p2","stock":0,"title":"A lamp of gold"}',2,1,'put');
INSERT INTO entity_history VALUES(8,'Product','p3','{"price":5e-324,"sku":"p3","stock":9223372036854775807,"title":"Tiny"}',2,1,'put');
INSERT INTO entity_history VALUES(9,'Product','p4','{"price":-0.1,"sku":"p4","stock":-9223372036854775808,"title":"Negative"}',2,1,'put');
INSERT INTO entity_history VALUES(10,'Customer','c2','{"active":true,"id":"c2","joined":"2025-01-02T12:00:00.123456+00:00","name":"Bob the Builder","note":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":"bottom"}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}],"profile":{"city":"Köln","n":2},"score":3,"tags":["t0","all"],"tier":"Gold"}',4,1,'put');
INSERT INTO entity_history VALUES(11,'Customer','c3','{}',4,1,'delete');
INSERT INTO entity_history VALUES(12,'Draft','d1','{"id":"d1","text":"The first draft"}',5,1,'put');
INSERT INTO entity_history VALUES(13,'Draft','d2','{"id":"d2","text":"Second, of <b>words</b>"}',5,1,'put');
INSERT INTO entity_history VALUES(14,'Draft','d3','{"id":"d3","text":"third"}',5,1,'put');
INSERT INTO entity_history VALUES(15,'Old','o1','{"count":1,"id":"o1"}',5,1,'put');
INSERT INTO entity_history VALUES(16,'Old','o2','{"count":2,"id":"o2"}',5,1,'put');
INSERT INTO entity_history VALUES(17,'Secret','s1','{"id":"s1","pin":"1234"}',5,1,'put');
INSERT INTO entity_history VALUES(18,'Secret','s2','{"id":"s2","pin":"5678"}',5,1,'put');
INSERT INTO entity_history VALUES(19,'Customer','c3','{"active":false,"age":23,"id":"c3","joined":"0001-01-01T00:00:00.000000+00:00","name":"Cy is back","note":{"a":1000,"m":[[],{}],"z":1},"profile":{},"score":0,"tags":[],"tier":"Bronze"}',6,1,'put');
INSERT INTO entity_history VALUES(20,'Old','%41','{"count":3,"id":"%41"}',7,1,'put');
INSERT INTO entity_history VALUES(21,'Old','''quoted''','{"count":5,"id":"''quoted''"}',7,1,'put');
INSERT INTO entity_history VALUES(22,'Old','-','{"count":8,"id":"-"}',7,1,'put');
INSERT INTO entity_history VALUES(23,'Old','1.0','{"count":6,"id":"1.0"}',7,1,'put');
INSERT INTO entity_history VALUES(24,'Old','C1','{"count":11,"id":"C1"}',7,1,'put');
INSERT INTO entity_history VALUES(25,'Old','True','{"count":7,"id":"True"}',7,1,'put');
INSERT INTO entity_history VALUES(26,'Old','a b','{"count":1,"id":"a b"}',7,1,'put');
INSERT INTO entity_history VALUES(27,'Old','a/b','{"count":2,"id":"a/b"}',7,1,'put');
INSERT INTO entity_history VALUES(28,'Old','c1 ','{"count":12,"id":"c1 "}',7,1,'put');
INSERT INTO entity_history VALUES(29,'Old','größe','{"count":0,"id":"größe"}',7,1,'put');
INSERT INTO entity_history VALUES(30,'Old','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk','{"count":10,"id":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}',7,1,'put');
INSERT INTO entity_history VALUES(31,'Old',' ','{"count":4,"id":" "}',7,1,'put');
INSERT INTO entity_history VALUES(32,'Old','😀','{"count":9,"id":"😀"}',7,1,'put');
INSERT INTO entity_history VALUES(33,'Secret','%41','{"id":"%41","pin":"%41"}',7,1,'put');
INSERT INTO entity_history VALUES(34,'Secret','''quoted''','{"id":"''quoted''","pin":"''quoted''"}',7,1,'put');
INSERT INTO entity_history VALUES(35,'Secret','-','{"id":"-","pin":"-"}',7,1,'put');
INSERT INTO entity_history VALUES(36,'Secret','1.0','{"id":"1.0","pin":"1.0"}',7,1,'put');
INSERT INTO entity_history VALUES(37,'Secret','C1','{"id":"C1","pin":"C1"}',7,1,'put');
INSERT INTO entity_history VALUES(38,'Secret','True','{"id":"True","pin":"True"}',7,1,'put');
INSERT INTO entity_history VALUES(39,'Secret','a b','{"id":"a b","pin":"a b"}',7,1,'put');
INSERT INTO entity_history VALUES(40,'Secret','a/b','{"id":"a/b","pin":"a/b"}',7,1,'put');
INSERT INTO entity_history VALUES(41,'Secret','c1 ','{"id":"c1 ","pin":"c1 "}',7,1,'put');
INSERT INTO entity_history VALUES(42,'Secret','größe','{"id":"größe","pin":"größe"}',7,1,'put');
INSERT INTO entity_history VALUES(43,'Secret','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk','{"id":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk","pin":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}',7,1,'put');
INSERT INTO entity_history VALUES(44,'Secret',' ','{"id":" ","pin":" "}',7,1,'put');
INSERT INTO entity_history VALUES(45,'Secret','😀','{"id":"😀","pin":"😀"}',7,1,'put');
INSERT INTO entity_history VALUES(46,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 0","note":0,"profile":{"city":"Köln","n":4},"score":0,"tags":["t0","all"],"tier":"Silver"}',8,1,'put');
INSERT INTO entity_history VALUES(47,'Product','p1','{"price":9.99,"sku":"p1","stock":0,"title":"A plain lamp 0"}',8,1,'put');
INSERT INTO entity_history VALUES(48,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 1","note":1,"profile":{"city":"Köln","n":4},"score":0.3333333333333333,"tags":["t0","all"],"tier":"Silver"}',9,1,'put');
INSERT INTO entity_history VALUES(49,'Product','p1','{"price":10.99,"sku":"p1","stock":0,"title":"A plain lamp 0"}',9,1,'put');
INSERT INTO entity_history VALUES(50,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 2","note":2,"profile":{"city":"Köln","n":4},"score":0.6666666666666666,"tags":["t0","all"],"tier":"Silver"}',10,1,'put');
INSERT INTO entity_history VALUES(51,'Product','p1','{"price":11.99,"sku":"p1","stock":0,"title":"A plain lamp 1"}',10,1,'put');
INSERT INTO entity_history VALUES(52,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 3","note":3,"profile":{"city":"Köln","n":4},"score":1,"tags":["t0","all"],"tier":"Silver"}',11,1,'put');
INSERT INTO entity_history VALUES(53,'Product','p1','{"price":12.99,"sku":"p1","stock":1,"title":"A plain lamp 1"}',11,1,'put');
INSERT INTO entity_history VALUES(54,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 4","note":4,"profile":{"city":"Köln","n":4},"score":1.3333333333333333,"tags":["t0","all"],"tier":"Silver"}',12,1,'put');
INSERT INTO entity_history VALUES(55,'Product','p1','{"price":13.99,"sku":"p1","stock":1,"title":"A plain lamp 2"}',12,1,'put');
INSERT INTO entity_history VALUES(56,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 5","note":5,"profile":{"city":"Köln","n":4},"score":1.6666666666666667,"tags":["t0","all"],"tier":"Silver"}',13,1,'put');
INSERT INTO entity_history VALUES(57,'Product','p1','{"price":14.99,"sku":"p1","stock":1,"title":"A plain lamp 2"}',13,1,'put');
INSERT INTO entity_history VALUES(58,'Draft','d3','{}',14,1,'delete');
INSERT INTO entity_history VALUES(59,'Old','1.0','{}',14,1,'delete');
CREATE TABLE relation_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    relation_type TEXT NOT NULL,
    left_key TEXT NOT NULL,
    right_key TEXT NOT NULL,
    instance_key TEXT NOT NULL DEFAULT '',
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
INSERT INTO relation_history VALUES(1,'Bought','c1','p1','','{"at":"2025-01-20T12:00:00.123456+00:00","quantity":2}',3,1,'put');
INSERT INTO relation_history VALUES(2,'Bought','c1','p2','','{"at":"2025-01-21T12:00:00.123456+00:00","quantity":1,"remark":"a gift"}',3,1,'put');
INSERT INTO relation_history VALUES(3,'Bought','c2','p1','','{"at":"2025-01-22T12:00:00.123456+00:00","quantity":5}',3,1,'put');
INSERT INTO relation_history VALUES(4,'Bought','c9','p1','','{"at":"2025-01-23T12:00:00.123456+00:00","quantity":7,"remark":"of a customer that is not there"}',3,1,'put');
INSERT INTO relation_history VALUES(5,'Stint','c1','p1','2024','{"pay":10.5,"role":"lead tester"}',3,1,'put');
INSERT INTO relation_history VALUES(6,'Stint','c1','p1','2025','{"pay":11,"role":"tester"}',3,1,'put');
INSERT INTO relation_history VALUES(7,'Stint','c2','p3',' ','{"pay":0,"role":"helper of a blank year"}',3,1,'put');
INSERT INTO relation_history VALUES(8,'Bought','c1','p2','','{}',4,1,'delete');
INSERT INTO relation_history VALUES(9,'Cites','d2','d1','','{}',5,1,'put');
INSERT INTO relation_history VALUES(10,'Replaces','o2','o1','','{"why":"newer"}',5,1,'put');
INSERT INTO relation_history VALUES(11,'Bought','c1','p2','','{"at":"2025-01-25T12:00:00.123456+00:00","quantity":9007199254740993,"remark":""}',6,1,'put');
INSERT INTO relation_history VALUES(12,'Replaces','a/b','größe','','{"why":"odd"}',7,1,'put');
INSERT INTO relation_history VALUES(13,'Replaces','größe','a/b','','{"why":"odd"}',7,1,'put');
INSERT INTO relation_history VALUES(14,'Cites','d2','d1','','{}',14,1,'delete');
INSERT INTO relation_history VALUES(15,'Cites','d1','d2','','{}',15,1,'put');
CREATE TABLE schema_registry (
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    schema_json TEXT NOT NULL,
    PRIMARY KEY (type_kind, type_name)
);
INSERT INTO schema_registry VALUES('entity','Customer','{"fields":{"active":{"type":"bool"},"age":{"index":true,"optional":true,"type":"int"},"id":{"type":"string"},"joined":{"type":"time"},"name":{"search":true,"type":"string"},"note":{"optional":true,"type":"any"},"profile":{"type":"object"},"score":{"type":"float"},"tags":{"type":"list"},"tier":{"default":"Bronze","index":true,"type":"string"}},"key":"id","kind":"entity","name":"Customer"}');
INSERT INTO schema_registry VALUES('entity','Product','{"fields":{"price":{"index":true,"type":"float"},"sku":{"type":"string"},"stock":{"type":"int"},"title":{"search":true,"type":"string"}},"key":"sku","kind":"entity","name":"Product"}');
INSERT INTO schema_registry VALUES('relation','Bought','{"fields":{"at":{"type":"time"},"quantity":{"index":true,"type":"int"},"remark":{"optional":true,"type":"string"}},"kind":"relation","left":"Customer","name":"Bought","right":"Product"}');
INSERT INTO schema_registry VALUES('relation','Stint','{"fields":{"pay":{"type":"float"},"role":{"search":true,"type":"string"}},"instance_key":"year","kind":"relation","left":"Customer","name":"Stint","right":"Product"}');
INSERT INTO schema_registry VALUES('entity','Draft','{"fields":{"id":{"type":"string"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Draft"}');
INSERT INTO schema_registry VALUES('relation','Cites','{"fields":{},"kind":"relation","left":"Draft","name":"Cites","right":"Draft"}');
INSERT INTO schema_registry VALUES('entity','Old','{"fields":{"count":{"type":"int"},"id":{"type":"string"}},"key":"id","kind":"entity","name":"Old"}');
INSERT INTO schema_registry VALUES('relation','Replaces','{"fields":{"why":{"type":"string"}},"kind":"relation","left":"Old","name":"Replaces","right":"Old"}');
INSERT INTO schema_registry VALUES('entity','Secret','{"fields":{"id":{"type":"string"},"pin":{"type":"string"}},"key":"id","kind":"entity","name":"Secret"}');
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
    onto_since INTEGER,
    onto_upgrader TEXT,
    onto_end TEXT,
    UNIQUE(type_kind, type_name, schema_version_id)
);
INSERT INTO schema_versions VALUES(1,'entity','Customer',1,'{"fields":{"active":{"type":"bool"},"age":{"index":true,"optional":true,"type":"int"},"id":{"type":"string"},"joined":{"type":"time"},"name":{"search":true,"type":"string"},"note":{"optional":true,"type":"any"},"profile":{"type":"object"},"score":{"type":"float"},"tags":{"type":"list"},"tier":{"default":"Bronze","index":true,"type":"string"}},"key":"id","kind":"entity","name":"Customer"}','dc528131bfd5fca00bfe8cfea7845321138319cb876da950bacbe2c039343c94','2026-03-01T08:00:01.250001+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(2,'entity','Product',1,'{"fields":{"price":{"index":true,"type":"float"},"sku":{"type":"string"},"stock":{"type":"int"},"title":{"search":true,"type":"string"}},"key":"sku","kind":"entity","name":"Product"}','665c344a4ce1d5746d75bdf8359bb6e7481083baf1ee0173c11048393860a9c0','2026-03-01T08:00:02.500002+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(3,'relation','Bought',1,'{"fields":{"at":{"type":"time"},"quantity":{"index":true,"type":"int"},"remark":{"optional":true,"type":"string"}},"kind":"relation","left":"Customer","name":"Bought","right":"Product"}','68ff8361d9c4af483753bea7af5bd5789388530c5640dbcdc3ee28e9bd1c5b20','2026-03-01T08:00:03.750003+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(4,'relation','Stint',1,'{"fields":{"pay":{"type":"float"},"role":{"search":true,"type":"string"}},"instance_key":"year","kind":"relation","left":"Customer","name":"Stint","right":"Product"}','1f3cf9ae07866841c0c9ea1b029ad950e899571c92f87d5dce95a6bfbbebf4bc','2026-03-01T08:00:05.000004+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(5,'entity','Draft',1,'{"fields":{"id":{"type":"string"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Draft"}','6172c801c85de48a28af363e88d7c73677d04dfbb571303d00fe253e6dd01a98','2026-03-01T08:00:06.250005+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(6,'relation','Cites',1,'{"fields":{},"kind":"relation","left":"Draft","name":"Cites","right":"Draft"}','2162ddb0a9cfed9c0952d3b0c8dd920895dab3f515ec6ccb6650351637ade4f3','2026-03-01T08:00:07.500006+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(7,'entity','Old',1,'{"fields":{"count":{"type":"int"},"id":{"type":"string"}},"key":"id","kind":"entity","name":"Old"}','b5c81767bd4b7db08f9c4aa84c89677f7eeddb64895ba8f6192158f2ea820483','2026-03-01T08:00:08.750007+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(8,'relation','Replaces',1,'{"fields":{"why":{"type":"string"}},"kind":"relation","left":"Old","name":"Replaces","right":"Old"}','9522e3834ef0e80bd199cf776db30240194a96b74c9889c06174717929580ed6','2026-03-01T08:00:10.000008+00:00','program of format 3','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(9,'entity','Secret',1,'{"fields":{"id":{"type":"string"},"pin":{"type":"string"}},"key":"id","kind":"entity","name":"Secret"}','30d5b307ecf072ddd92688ea711f7f4f6788a731200b24521f5ab2c9e7f4de22','2026-03-01T08:00:11.250009+00:00','program of format 3','initial',1,NULL,NULL);
CREATE TABLE locks (
    lock_name TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    acquired_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
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
INSERT INTO entity_current VALUES('Customer','c1',1,1,'put',1,X'cc8a676163746976650237616765233231276964276331676a6f696e6564c720323032352d30312d30315431323a30303a30302e3132333435362b30303a3030476e616d65c70c416461204c6f76656c6163657770726f66696c65cc0c4763697479275346176e13315773636f726535312e3547746167737b27743137616c6c47746965726753696c766572');
INSERT INTO entity_current VALUES('Customer','c2',4,1,'put',1,X'dc01616761637469766501276964276332676a6f696e6564c720323032352d30312d30325431323a30303a30302e3132333435362b30303a3030476e616d65c70f426f6220746865204275696c646572476e6f7465cbd5ccd327696ecbcecccc27696ecbc7ccc527696ecbc0ccbe27696ecbb9ccb727696ecbb2ccb027696ecbabcca927696ecba4cca227696ecb9dcc9b27696ecb96cc9427696ecb8fcc8d27696ecb88cc8627696ecb81cc7f27696ecb7acc7827696ecb73cc7127696ecb6ccc6a27696ecb65cc6327696ecb5ecc5c27696ecb57cc5527696ecb50cc4e27696ecb49cc4727696ecb42cc4027696ecb3bcc3927696ecb34cc3227696ecb2dcc2b27696ecb26cc2427696ecb1fcc1d27696ecb18cc1627696ecb11cc0f27696ebbac27696e67626f74746f6d7770726f66696c65cc0f4763697479574bc3b66c6e176e13325773636f7265133347746167737b27743037616c6c477469657247476f6c64');
INSERT INTO entity_current VALUES('Customer','c3',6,1,'put',1,X'cc88676163746976650237616765233233276964276333676a6f696e6564c720303030312d30312d30315430303a30303a30302e3030303030302b30303a3030476e616d65a74379206973206261636b476e6f7465cc1017614331303030176d2b0b0c177a13317770726f66696c650c5773636f7265133047746167730b47746965726742726f6e7a65');
INSERT INTO entity_current VALUES('Customer','c4',13,1,'put',1,X'cca0676163746976650137616765233234276964276334676a6f696e6564c720323032352d30312d30345431323a30303a30302e3132333435362b30303a3030476e616d65974772c3b6c39f652035476e6f746513357770726f66696c65cc0f4763697479574bc3b66c6e176e13345773636f7265c512312e3636363636363636363636363636363747746167737b27743037616c6c47746965726753696c766572');
INSERT INTO entity_current VALUES('Customer','c5',1,1,'put',1,X'cc7b676163746976650237616765233235276964276335676a6f696e6564c720323032352d30312d30355431323a30303a30302e3132333435362b30303a3030476e616d65077770726f66696c65cc0c4763697479275346176e13355773636f726535372e3547746167737b27743137616c6c477469657247476f6c64');
INSERT INTO entity_current VALUES('Draft','d1',5,5,'put',1,X'cc1c2769642764314774657874c70f546865206669727374206472616674');
INSERT INTO entity_current VALUES('Draft','d2',5,5,'put',1,X'cc242769642764324774657874c7175365636f6e642c206f66203c623e776f7264733c2f623e');
INSERT INTO entity_current VALUES('Draft','d3',14,5,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','%41',7,7,'put',1,X'cc0f57636f756e74133327696437253431');
INSERT INTO entity_current VALUES('Old','''quoted''',7,7,'put',1,X'cc1457636f756e741335276964872771756f74656427');
INSERT INTO entity_current VALUES('Old','-',7,7,'put',1,X'cc0d57636f756e741338276964172d');
INSERT INTO entity_current VALUES('Old','1.0',14,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','C1',7,7,'put',1,X'cc0f57636f756e74233131276964274331');
INSERT INTO entity_current VALUES('Old','True',7,7,'put',1,X'cc1057636f756e7413372769644754727565');
INSERT INTO entity_current VALUES('Old','a b',7,7,'put',1,X'cc0f57636f756e74133127696437612062');
INSERT INTO entity_current VALUES('Old','a/b',7,7,'put',1,X'cc0f57636f756e74133227696437612f62');
INSERT INTO entity_current VALUES('Old','c1 ',7,7,'put',1,X'cc1057636f756e7423313227696437633120');
INSERT INTO entity_current VALUES('Old','größe',7,7,'put',1,X'cc1357636f756e741330276964776772c3b6c39f65');
INSERT INTO entity_current VALUES('Old','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk',7,7,'put',1,X'ccd657636f756e74233130276964c7c86b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b');
INSERT INTO entity_current VALUES('Old','o1',5,5,'put',1,X'cc0e57636f756e741331276964276f31');
INSERT INTO entity_current VALUES('Old','o2',5,5,'put',1,X'cc0e57636f756e741332276964276f32');
INSERT INTO entity_current VALUES('Old',' ',7,7,'put',1,X'cc0f57636f756e74133427696437e280a8');
INSERT INTO entity_current VALUES('Old','😀',7,7,'put',1,X'cc1057636f756e74133927696447f09f9880');
INSERT INTO entity_current VALUES('Product','p1',13,2,'put',1,X'cc315770726963655531342e393937736b752770315773746f636b1331577469746c65c70e4120706c61696e206c616d702032');
INSERT INTO entity_current VALUES('Product','p2',2,2,'put',1,X'cc3e577072696365c311313030303030303030303030303030303037736b752770325773746f636b1330577469746c65c70e41206c616d70206f6620676f6c64');
INSERT INTO entity_current VALUES('Product','p3',2,2,'put',1,X'cc3a5770726963656535652d33323437736b752770335773746f636bc31339323233333732303336383534373735383037577469746c654754696e79');
INSERT INTO entity_current VALUES('Product','p4',2,2,'put',1,X'cc3d577072696365452d302e3137736b752770345773746f636bc3142d39323233333732303336383534373735383038577469746c65874e65676174697665');
INSERT INTO entity_current VALUES('Secret','%41',7,7,'put',1,X'cc0f276964372534313770696e37253431');
INSERT INTO entity_current VALUES('Secret','''quoted''',7,7,'put',1,X'cc19276964872771756f746564273770696e872771756f74656427');
INSERT INTO entity_current VALUES('Secret','-',7,7,'put',1,X'bc276964172d3770696e172d');
INSERT INTO entity_current VALUES('Secret','1.0',7,7,'put',1,X'cc0f27696437312e303770696e37312e30');
INSERT INTO entity_current VALUES('Secret','C1',7,7,'put',1,X'cc0d2769642743313770696e274331');
INSERT INTO entity_current VALUES('Secret','True',7,7,'put',1,X'cc1127696447547275653770696e4754727565');
INSERT INTO entity_current VALUES('Secret','a b',7,7,'put',1,X'cc0f276964376120623770696e37612062');
INSERT INTO entity_current VALUES('Secret','a/b',7,7,'put',1,X'cc0f27696437612f623770696e37612f62');
INSERT INTO entity_current VALUES('Secret','c1 ',7,7,'put',1,X'cc0f276964376331203770696e37633120');
INSERT INTO entity_current VALUES('Secret','größe',7,7,'put',1,X'cc17276964776772c3b6c39f653770696e776772c3b6c39f65');
INSERT INTO entity_current VALUES('Secret','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk',7,7,'put',1,X'dc019b276964c7c86b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b3770696ec7c86b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b');
INSERT INTO entity_current VALUES('Secret','s1',5,5,'put',1,X'cc0f2769642773313770696e4731323334');
INSERT INTO entity_current VALUES('Secret','s2',5,5,'put',1,X'cc0f2769642773323770696e4735363738');
INSERT INTO entity_current VALUES('Secret',' ',7,7,'put',1,X'cc0f27696437e280a83770696e37e280a8');
INSERT INTO entity_current VALUES('Secret','😀',7,7,'put',1,X'cc1127696447f09f98803770696e47f09f9880');
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
INSERT INTO relation_current VALUES('Bought','c1','p1','',3,3,'put',1,X'cc30276174c720323032352d30312d32305431323a30303a30302e3132333435362b30303a3030877175616e746974791332');
INSERT INTO relation_current VALUES('Bought','c1','p2','',6,3,'put',1,X'cc48276174c720323032352d30312d32355431323a30303a30302e3132333435362b30303a3030877175616e74697479c310393030373139393235343734303939336772656d61726b07');
INSERT INTO relation_current VALUES('Bought','c2','p1','',3,3,'put',1,X'cc30276174c720323032352d30312d32325431323a30303a30302e3132333435362b30303a3030877175616e746974791335');
INSERT INTO relation_current VALUES('Bought','c9','p1','',3,3,'put',1,X'cc58276174c720323032352d30312d32335431323a30303a30302e3132333435362b30303a3030877175616e7469747913376772656d61726bc71f6f66206120637573746f6d65722074686174206973206e6f74207468657265');
INSERT INTO relation_current VALUES('Cites','d1','d2','',15,15,'put',1,X'0c');
INSERT INTO relation_current VALUES('Cites','d2','d1','',14,5,'delete',1,X'0c');
INSERT INTO relation_current VALUES('Replaces','a/b','größe','',7,7,'put',1,X'8c37776879376f6464');
INSERT INTO relation_current VALUES('Replaces','größe','a/b','',7,7,'put',1,X'8c37776879376f6464');
INSERT INTO relation_current VALUES('Replaces','o2','o1','',5,5,'put',1,X'ac37776879576e65776572');
INSERT INTO relation_current VALUES('Stint','c1','p1','2024',3,3,'put',1,X'cc1a377061794531302e3547726f6c65b76c65616420746573746572');
INSERT INTO relation_current VALUES('Stint','c1','p1','2025',3,3,'put',1,X'cc133770617923313147726f6c6567746573746572');
INSERT INTO relation_current VALUES('Stint','c2','p3',' ',3,3,'put',1,X'cc2337706179133047726f6c65c71668656c706572206f66206120626c616e6b2079656172');
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
INSERT INTO onto_meta VALUES(1,3,'7b7b0ec9-d389-4583-81d0-f69f2e9b87b6',0,1,1,NULL,NULL);
CREATE TABLE onto_derived (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    field TEXT NOT NULL,
    purpose TEXT NOT NULL,
    UNIQUE (type_kind, type_name, purpose, field)
);
INSERT INTO onto_derived VALUES(1,'entity','Customer','age','index');
INSERT INTO onto_derived VALUES(2,'entity','Customer','tier','index');
INSERT INTO onto_derived VALUES(3,'entity','Customer','name','search');
INSERT INTO onto_derived VALUES(4,'entity','Product','price','index');
INSERT INTO onto_derived VALUES(5,'entity','Product','title','search');
INSERT INTO onto_derived VALUES(6,'relation','Bought','quantity','index');
INSERT INTO onto_derived VALUES(7,'relation','Stint','role','search');
INSERT INTO onto_derived VALUES(8,'entity','Draft','text','search');
CREATE TABLE onto_entity_past (
    entity_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (entity_type, until, since, history_id)
) WITHOUT ROWID;
INSERT INTO onto_entity_past VALUES('Customer',4,1,2);
INSERT INTO onto_entity_past VALUES('Customer',4,1,3);
INSERT INTO onto_entity_past VALUES('Customer',6,4,11);
INSERT INTO onto_entity_past VALUES('Customer',8,1,4);
INSERT INTO onto_entity_past VALUES('Customer',9,8,46);
INSERT INTO onto_entity_past VALUES('Customer',10,9,48);
INSERT INTO onto_entity_past VALUES('Customer',11,10,50);
INSERT INTO onto_entity_past VALUES('Customer',12,11,52);
INSERT INTO onto_entity_past VALUES('Customer',13,12,54);
INSERT INTO onto_entity_past VALUES('Draft',14,5,14);
INSERT INTO onto_entity_past VALUES('Old',14,7,23);
INSERT INTO onto_entity_past VALUES('Product',8,2,6);
INSERT INTO onto_entity_past VALUES('Product',9,8,47);
INSERT INTO onto_entity_past VALUES('Product',10,9,49);
INSERT INTO onto_entity_past VALUES('Product',11,10,51);
INSERT INTO onto_entity_past VALUES('Product',12,11,53);
INSERT INTO onto_entity_past VALUES('Product',13,12,55);
CREATE TABLE onto_relation_past (
    relation_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (relation_type, until, since, history_id)
) WITHOUT ROWID;
INSERT INTO onto_relation_past VALUES('Bought',4,3,2);
INSERT INTO onto_relation_past VALUES('Bought',6,4,8);
INSERT INTO onto_relation_past VALUES('Cites',14,5,9);
CREATE TABLE onto_leases (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL
);
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
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_3','onto_search_3',0,'CREATE VIRTUAL TABLE onto_search_3 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_3_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_3_content VALUES(1,'ada lovelace');
INSERT INTO onto_search_3_content VALUES(2,'bob the builder');
INSERT INTO onto_search_3_content VALUES(3,'cy is back');
INSERT INTO onto_search_3_content VALUES(4,'große 5');
CREATE TABLE IF NOT EXISTS 'onto_search_3_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_3_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_3_segdir VALUES(0,0,0,0,'0 72',X'00036164610301020000046261636b0303040001026f62030202000002637903030200000667726fc39f650304020000086c6f76656c61636503010300000571756f746503030300');
INSERT INTO onto_search_3_segdir VALUES(0,1,0,0,'0 55',X'00046261636b02030001026f6203020200010675696c6465720302040000026379020300000571756f7465020300000374686503020300');
INSERT INTO onto_search_3_segdir VALUES(0,2,0,0,'0 26',X'00046261636b0303040000026379030302000002697303030300');
INSERT INTO onto_search_3_segdir VALUES(0,3,0,0,'0 19',X'00013003040300000667726fc39f6503040200');
INSERT INTO onto_search_3_segdir VALUES(0,4,0,0,'0 25',X'00013002040000013103040300000667726fc39f6503040200');
INSERT INTO onto_search_3_segdir VALUES(0,5,0,0,'0 25',X'00013102040000013203040300000667726fc39f6503040200');
INSERT INTO onto_search_3_segdir VALUES(0,6,0,0,'0 25',X'00013202040000013303040300000667726fc39f6503040200');
INSERT INTO onto_search_3_segdir VALUES(0,7,0,0,'0 25',X'00013302040000013403040300000667726fc39f6503040200');
INSERT INTO onto_search_3_segdir VALUES(0,8,0,0,'0 25',X'00013402040000013503040300000667726fc39f6503040200');
CREATE TABLE IF NOT EXISTS 'onto_search_3_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_3_stat VALUES(0,X'040a2d');
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_5','onto_search_5',0,'CREATE VIRTUAL TABLE onto_search_5 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_5_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_5_content VALUES(6,'a plain lamp 2');
INSERT INTO onto_search_5_content VALUES(7,'a lamp of gold');
INSERT INTO onto_search_5_content VALUES(8,'tiny');
INSERT INTO onto_search_5_content VALUES(9,'negative');
CREATE TABLE IF NOT EXISTS 'onto_search_5_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_5_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_5_segdir VALUES(0,0,0,0,'0 76',X'000161060602000102000004676f6c640307050000046c616d700606040001030000086e656761746976650309020000026f66030704000005706c61696e03060300000474696e7903080200');
INSERT INTO onto_search_5_segdir VALUES(0,1,0,0,'0 35',X'000130030605000001610306020000046c616d70030604000005706c61696e03060300');
INSERT INTO onto_search_5_segdir VALUES(0,2,0,0,'0 41',X'000130020600000131030605000001610306020000046c616d70030604000005706c61696e03060300');
INSERT INTO onto_search_5_segdir VALUES(0,3,0,0,'0 41',X'000131020600000132030605000001610306020000046c616d70030604000005706c61696e03060300');
CREATE TABLE IF NOT EXISTS 'onto_search_5_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_5_stat VALUES(0,X'040a28');
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_7','onto_search_7',0,'CREATE VIRTUAL TABLE onto_search_7 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_7_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_7_content VALUES(5,'lead tester');
INSERT INTO onto_search_7_content VALUES(6,'tester');
INSERT INTO onto_search_7_content VALUES(7,'helper of a blank year');
CREATE TABLE IF NOT EXISTS 'onto_search_7_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_7_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_7_segdir VALUES(0,0,0,0,'0 73',X'000161030704000005626c616e6b03070500000668656c7065720307020000046c6561640305020000026f660307030000067465737465720605030001020000047965617203070600');
CREATE TABLE IF NOT EXISTS 'onto_search_7_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_7_stat VALUES(0,X'030827');
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_8','onto_search_8',0,'CREATE VIRTUAL TABLE onto_search_8 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_8_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_8_content VALUES(12,'the first draft');
INSERT INTO onto_search_8_content VALUES(13,'second of b words b');
CREATE TABLE IF NOT EXISTS 'onto_search_8_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_8_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_8_segdir VALUES(0,0,0,0,'0 79',X'000162040d04040000056472616674030c040000056669727374030c030000026f66030d030000067365636f6e64030d02000003746865030c02000203697264030e02000005776f726473030d0500');
INSERT INTO onto_search_8_segdir VALUES(0,1,0,0,'0 10',X'00057468697264020e00');
CREATE TABLE IF NOT EXISTS 'onto_search_8_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_8_stat VALUES(0,X'020822');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('schema_versions',9);
INSERT INTO sqlite_sequence VALUES('onto_derived',8);
INSERT INTO sqlite_sequence VALUES('commits',15);
INSERT INTO sqlite_sequence VALUES('entity_history',59);
INSERT INTO sqlite_sequence VALUES('relation_history',15);
CREATE INDEX idx_entity_history_lookup
    ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE INDEX idx_relation_history_lookup
    ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
CREATE INDEX onto_entity_history_commit ON entity_history(commit_id);
CREATE INDEX onto_relation_history_commit ON relation_history(commit_id);
CREATE UNIQUE INDEX onto_commits_idempotency ON commits(idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX onto_relation_current_right ON relation_current(relation_type, right_key);
CREATE INDEX onto_field_1 ON entity_current(fields ->> '$.age', op) WHERE entity_type = 'Customer' AND op = 'put';
CREATE INDEX onto_field_2 ON entity_current(fields ->> '$.tier', op) WHERE entity_type = 'Customer' AND op = 'put';
CREATE INDEX onto_field_4 ON entity_current(fields ->> '$.price', op) WHERE entity_type = 'Product' AND op = 'put';
CREATE INDEX onto_field_6 ON relation_current(fields ->> '$.quantity', op) WHERE relation_type = 'Bought' AND op = 'put';
PRAGMA writable_schema=OFF;
COMMIT;
