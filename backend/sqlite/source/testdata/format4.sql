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
INSERT INTO commits VALUES(1,'2026-03-01T08:00:06.250005+00:00','{"big":9007199254740993,"half":0.5,"list":[1,"zwei",null,true],"ü":{"a":" <&>"}}','program of format 4','operator','ana',NULL,'corr-1','sig:abc',replace('import of the customers\nin two lines','\n',char(10)),NULL,NULL,5);
INSERT INTO commits VALUES(2,'2026-03-01T08:00:08.750007+00:00',NULL,'program of format 4','operator','ana',1,'corr-1',NULL,NULL,'products-1','c00ef97b8d4ff7d470f979ceaba3f0d2faa3a39bbd5926e933265de98442ddf1',4);
INSERT INTO commits VALUES(3,'2026-03-01T08:00:11.250009+00:00','{"source":"web"}','program of format 4','daemon','shop',NULL,NULL,NULL,NULL,'orders/1 ü','9d24fede91230d7b92fcf77a79f455e850f25ed0f17ce1f0f749763cf504c7cf',7);
INSERT INTO commits VALUES(4,'2026-03-01T08:00:18.750015+00:00',NULL,'program of format 4','daemon','shop',3,NULL,NULL,NULL,NULL,NULL,3);
INSERT INTO commits VALUES(5,'2026-03-01T08:00:21.250017+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,'an anonymous one',NULL,NULL,7);
INSERT INTO commits VALUES(6,'2026-03-01T08:00:23.750019+00:00',NULL,'program of format 4','operator','ana',NULL,NULL,NULL,NULL,NULL,NULL,2);
INSERT INTO commits VALUES(7,'2026-03-01T08:00:26.250021+00:00',NULL,'program of format 4','remote','lister',NULL,NULL,NULL,'odd keys',NULL,NULL,15);
INSERT INTO commits VALUES(8,'2026-03-01T08:00:28.750023+00:00',NULL,'program of format 4','daemon','loop',NULL,'loop-0',NULL,NULL,'loop-0','0dd25f9cec7ecf4544a35e1e85bd5d2c8b8499506cd2233343fa6bf796f1b3c6',2);
INSERT INTO commits VALUES(9,'2026-03-01T08:00:31.250025+00:00',NULL,'program of format 4','daemon','loop',1,'loop-1',NULL,NULL,'loop-1','54cbae5a3aa04f13049d80c06634d4e3bc215099351a8c498be7c04fee6fd48b',2);
INSERT INTO commits VALUES(10,'2026-03-01T08:00:33.750027+00:00',NULL,'program of format 4','daemon','loop',2,'loop-0',NULL,NULL,'loop-2','727702add2e49668e70d2769fbbe49cce40698028633ef71daf7512a5f850a24',2);
INSERT INTO commits VALUES(11,'2026-03-01T08:00:36.250029+00:00',NULL,'program of format 4','daemon','loop',3,'loop-1',NULL,NULL,'loop-3','63c7406d6398af42cde7436e83ec983a4e250c9fc03957f39029187bfb45684f',2);
INSERT INTO commits VALUES(12,'2026-03-01T08:00:38.750031+00:00',NULL,'program of format 4','daemon','loop',4,'loop-0',NULL,NULL,'loop-4','2c5c15f3662f0910f58a62d3f9dff148db3950d00286f796347cc5436c458199',2);
INSERT INTO commits VALUES(13,'2026-03-01T08:00:41.250033+00:00',NULL,'program of format 4','daemon','loop',5,'loop-1',NULL,NULL,'loop-5','eb48be39a69236a15a857376877ae5ce05445ac172220a6d80d333fe8eab6454',2);
INSERT INTO commits VALUES(14,'2026-03-01T08:00:43.750035+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,'all of a type',NULL,NULL,3);
INSERT INTO commits VALUES(15,'2026-03-01T08:00:46.250037+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO commits VALUES(16,'2026-03-01T08:00:48.750039+00:00','{"merge":true}','program of format 4','component','merger',NULL,NULL,NULL,NULL,'merge-1','2f37c565261273e939e465259fe1e76dd8cf6926cc5b26373b636838ba3a021f',1);
INSERT INTO commits VALUES(17,'2026-03-01T08:00:55.000044+00:00',NULL,'vm-26260-27GY7N',NULL,NULL,NULL,NULL,NULL,'migrate Customer 1 → 2',NULL,NULL,5);
INSERT INTO commits VALUES(18,'2026-03-01T08:01:00.000048+00:00',NULL,'program of format 4','operator','ana',NULL,NULL,NULL,'after the migration',NULL,NULL,2);
INSERT INTO commits VALUES(19,'2026-03-01T08:01:06.250053+00:00',NULL,'vm-26260-C6TRGG',NULL,NULL,NULL,NULL,NULL,'migrate Product 1 → 2',NULL,NULL,4);
INSERT INTO commits VALUES(20,'2026-03-01T08:01:15.000060+00:00',NULL,'vm-26260-2ISSCZ',NULL,NULL,NULL,NULL,NULL,'migrate Draft 1 → Document 1',NULL,NULL,4);
INSERT INTO commits VALUES(21,'2026-03-01T08:01:20.000064+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3);
INSERT INTO commits VALUES(22,'2026-03-01T08:01:26.250069+00:00',NULL,'vm-26260-RDMQVM',NULL,NULL,NULL,NULL,NULL,'drop Old, Replaces',NULL,NULL,17);
INSERT INTO commits VALUES(23,'2026-03-01T08:01:42.500082+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,'a type of that name again',NULL,NULL,1);
INSERT INTO commits VALUES(24,'2026-03-01T08:01:53.750091+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO commits VALUES(25,'2026-03-01T08:02:00.000096+00:00',NULL,'vm-26260-URRK2U',NULL,NULL,NULL,NULL,NULL,'migrate Bought 1 → 2',NULL,NULL,4);
INSERT INTO commits VALUES(26,'2026-03-01T08:02:07.500102+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,'under a lease',NULL,NULL,1);
INSERT INTO commits VALUES(27,'2026-03-01T08:02:17.500110+00:00',NULL,'program of format 4',NULL,NULL,NULL,NULL,NULL,NULL,'with-events','2bf65630cb356c30446bb3b69f0be364a529f2cc4da3d3d8d7dbb0455e3c3c54',1);
INSERT INTO commits VALUES(28,'2026-03-01T08:02:27.500118+00:00',NULL,'program of format 4','component','billing',27,'01a1f094-7684-734e-9192-4150e57fde99',NULL,NULL,NULL,NULL,1);
INSERT INTO commits VALUES(29,'2026-03-01T08:02:32.500122+00:00',NULL,'program of format 4','component','billing',NULL,'01a1f094-7684-794d-a7a9-38e3bdf93388',NULL,NULL,NULL,NULL,1);
CREATE TABLE entity_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entity_type TEXT NOT NULL,
    entity_key TEXT NOT NULL,
    fields_json TEXT NOT NULL,
    commit_id INTEGER NOT NULL,
    schema_version_id INTEGER,
    op TEXT NOT NULL DEFAULT 'put',
    onto_sum INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
INSERT INTO entity_history VALUES(1,'Customer','c1','{"active":false,"age":21,"id":"c1","joined":"2025-01-01T12:00:00.123456+00:00","name":"Ada Lovelace","profile":{"city":"SF","n":1},"score":1.5,"tags":["t1","all"],"tier":"Silver"}',1,1,'put',2994281177);
INSERT INTO entity_history VALUES(2,'Customer','c2','{"active":true,"age":22,"id":"c2","joined":"2025-01-02T12:00:00.123456+00:00","name":"Bob","profile":{"city":"Köln","n":2},"score":3,"tags":["t0","all"],"tier":"Gold"}',1,1,'put',2559963493);
INSERT INTO entity_history VALUES(3,'Customer','c3','{"active":false,"age":23,"id":"c3","joined":"2025-01-03T12:00:00.123456+00:00","name":"Cy \"Quote\" \\ Back","profile":{"city":"SF","n":3},"score":4.5,"tags":["t1","all"],"tier":"Bronze"}',1,1,'put',3347169383);
INSERT INTO entity_history VALUES(4,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe ☃ 😀","profile":{"city":"Köln","n":4},"score":6,"tags":["t0","all"],"tier":"Silver"}',1,1,'put',103353241);
INSERT INTO entity_history VALUES(5,'Customer','c5','{"active":false,"age":25,"id":"c5","joined":"2025-01-05T12:00:00.123456+00:00","name":"","profile":{"city":"SF","n":5},"score":7.5,"tags":["t1","all"],"tier":"Gold"}',1,1,'put',1877714485);
INSERT INTO entity_history VALUES(6,'Product','p1','{"price":9.99,"sku":"p1","stock":3,"title":"A plain lamp"}',2,1,'put',2886267092);
INSERT INTO entity_history VALUES(7,'Product','p2','{"price":10000000000000000,"sku":"p2","stock":0,"title":"A lamp of gold"}',2,1,'put',1906770882);
INSERT INTO entity_history VALUES(8,'Product','p3','{"price":5e-324,"sku":"p3","stock":9223372036854775807,"title":"Tiny"}',2,1,'put',3471977824);
INSERT INTO entity_history VALUES(9,'Product','p4','{"price":-0.1,"sku":"p4","stock":-9223372036854775808,"title":"Negative"}',2,1,'put',355123890);
INSERT INTO entity_history VALUES(10,'Customer','c2','{"active":true,"id":"c2","joined":"2025-01-02T12:00:00.123456+00:00","name":"Bob the Builder","note":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":"bottom"}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}],"profile":{"city":"Köln","n":2},"score":3,"tags":["t0","all"],"tier":"Gold"}',4,1,'put',4039038945);
INSERT INTO entity_history VALUES(11,'Customer','c3','{}',4,1,'delete',4215244683);
INSERT INTO entity_history VALUES(12,'Draft','d1','{"id":"d1","text":"The first draft"}',5,1,'put',819580772);
INSERT INTO entity_history VALUES(13,'Draft','d2','{"id":"d2","text":"Second, of <b>words</b>"}',5,1,'put',848499673);
INSERT INTO entity_history VALUES(14,'Draft','d3','{"id":"d3","text":"third"}',5,1,'put',2072049127);
INSERT INTO entity_history VALUES(15,'Old','o1','{"count":1,"id":"o1"}',5,1,'put',2051065985);
INSERT INTO entity_history VALUES(16,'Old','o2','{"count":2,"id":"o2"}',5,1,'put',4247893945);
INSERT INTO entity_history VALUES(19,'Customer','c3','{"active":false,"age":23,"id":"c3","joined":"0001-01-01T00:00:00.000000+00:00","name":"Cy is back","note":{"a":1000,"m":[[],{}],"z":1},"profile":{},"score":0,"tags":[],"tier":"Bronze"}',6,1,'put',2598465102);
INSERT INTO entity_history VALUES(20,'Old','%41','{"count":3,"id":"%41"}',7,1,'put',899973850);
INSERT INTO entity_history VALUES(21,'Old','''quoted''','{"count":5,"id":"''quoted''"}',7,1,'put',896715615);
INSERT INTO entity_history VALUES(22,'Old','-','{"count":8,"id":"-"}',7,1,'put',1121353433);
INSERT INTO entity_history VALUES(23,'Old','1.0','{"count":6,"id":"1.0"}',7,1,'put',1341228277);
INSERT INTO entity_history VALUES(24,'Old','C1','{"count":11,"id":"C1"}',7,1,'put',3177540444);
INSERT INTO entity_history VALUES(25,'Old','True','{"count":7,"id":"True"}',7,1,'put',1431254547);
INSERT INTO entity_history VALUES(26,'Old','a b','{"count":1,"id":"a b"}',7,1,'put',2442798010);
INSERT INTO entity_history VALUES(27,'Old','a/b','{"count":2,"id":"a/b"}',7,1,'put',1996649185);
INSERT INTO entity_history VALUES(28,'Old','c1 ','{"count":12,"id":"c1 "}',7,1,'put',1245568695);
INSERT INTO entity_history VALUES(29,'Old','größe','{"count":0,"id":"größe"}',7,1,'put',3446790801);
INSERT INTO entity_history VALUES(30,'Old','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk','{"count":10,"id":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}',7,1,'put',3713910049);
INSERT INTO entity_history VALUES(31,'Old',' ','{"count":4,"id":" "}',7,1,'put',1837313411);
INSERT INTO entity_history VALUES(32,'Old','😀','{"count":9,"id":"😀"}',7,1,'put',1033754357);
INSERT INTO entity_history VALUES(46,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 0","note":0,"profile":{"city":"Köln","n":4},"score":0,"tags":["t0","all"],"tier":"Silver"}',8,1,'put',2054045362);
INSERT INTO entity_history VALUES(47,'Product','p1','{"price":9.99,"sku":"p1","stock":0,"title":"A plain lamp 0"}',8,1,'put',700605852);
INSERT INTO entity_history VALUES(48,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 1","note":1,"profile":{"city":"Köln","n":4},"score":0.3333333333333333,"tags":["t0","all"],"tier":"Silver"}',9,1,'put',761671877);
INSERT INTO entity_history VALUES(49,'Product','p1','{"price":10.99,"sku":"p1","stock":0,"title":"A plain lamp 0"}',9,1,'put',2049585888);
INSERT INTO entity_history VALUES(50,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 2","note":2,"profile":{"city":"Köln","n":4},"score":0.6666666666666666,"tags":["t0","all"],"tier":"Silver"}',10,1,'put',1325620923);
INSERT INTO entity_history VALUES(51,'Product','p1','{"price":11.99,"sku":"p1","stock":0,"title":"A plain lamp 1"}',10,1,'put',287443461);
INSERT INTO entity_history VALUES(52,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 3","note":3,"profile":{"city":"Köln","n":4},"score":1,"tags":["t0","all"],"tier":"Silver"}',11,1,'put',3135517989);
INSERT INTO entity_history VALUES(53,'Product','p1','{"price":12.99,"sku":"p1","stock":1,"title":"A plain lamp 1"}',11,1,'put',2854193803);
INSERT INTO entity_history VALUES(54,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 4","note":4,"profile":{"city":"Köln","n":4},"score":1.3333333333333333,"tags":["t0","all"],"tier":"Silver"}',12,1,'put',654067972);
INSERT INTO entity_history VALUES(55,'Product','p1','{"price":13.99,"sku":"p1","stock":1,"title":"A plain lamp 2"}',12,1,'put',1011710737);
INSERT INTO entity_history VALUES(56,'Customer','c4','{"active":true,"age":24,"id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","name":"Größe 5","note":5,"profile":{"city":"Köln","n":4},"score":1.6666666666666667,"tags":["t0","all"],"tier":"Silver"}',13,1,'put',1926438056);
INSERT INTO entity_history VALUES(57,'Product','p1','{"price":14.99,"sku":"p1","stock":1,"title":"A plain lamp 2"}',13,1,'put',1039041319);
INSERT INTO entity_history VALUES(58,'Draft','d3','{}',14,1,'delete',3943543878);
INSERT INTO entity_history VALUES(59,'Old','1.0','{}',14,1,'delete',2234877872);
INSERT INTO entity_history VALUES(60,'Customer','c1','{"active":false,"age":21,"id":"c1","joined":"2025-01-01T12:00:00.123456+00:00","name":"Ada Lovelace","profile":{"city":"SF","n":1},"score":1.5,"tags":["t1","all"],"tier":"Gold"}',16,1,'put',2578832517);
INSERT INTO entity_history VALUES(61,'Customer','c1','{"active":false,"age":21,"full_name":"Ada Lovelace","id":"c1","joined":"2025-01-01T12:00:00.123456+00:00","profile":{"city":"SF","n":1},"region":"EU","score":1.5,"tags":["t1","all"],"tier":"Gold"}',17,2,'put',2105058708);
INSERT INTO entity_history VALUES(62,'Customer','c2','{"active":true,"full_name":"Bob the Builder","id":"c2","joined":"2025-01-02T12:00:00.123456+00:00","note":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":[{"in":"bottom"}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}]}],"profile":{"city":"Köln","n":2},"region":"EU","score":3,"tags":["t0","all"],"tier":"Gold"}',17,2,'put',361322272);
INSERT INTO entity_history VALUES(63,'Customer','c3','{"active":false,"age":23,"full_name":"Cy is back","id":"c3","joined":"0001-01-01T00:00:00.000000+00:00","note":{"a":1000,"m":[[],{}],"z":1},"profile":{},"region":"EU","score":0,"tags":[],"tier":"Bronze"}',17,2,'put',3135924663);
INSERT INTO entity_history VALUES(64,'Customer','c4','{"active":true,"age":24,"full_name":"Größe 5","id":"c4","joined":"2025-01-04T12:00:00.123456+00:00","note":5,"profile":{"city":"Köln","n":4},"region":"EU","score":1.6666666666666667,"tags":["t0","all"],"tier":"Silver"}',17,2,'put',2649337377);
INSERT INTO entity_history VALUES(65,'Customer','c5','{"active":false,"age":25,"full_name":"","id":"c5","joined":"2025-01-05T12:00:00.123456+00:00","profile":{"city":"SF","n":5},"region":"EU","score":7.5,"tags":["t1","all"],"tier":"Gold"}',17,2,'put',3611842660);
INSERT INTO entity_history VALUES(66,'Customer','c5','{}',18,2,'delete',3493428141);
INSERT INTO entity_history VALUES(67,'Customer','c6','{"active":true,"age":30.5,"full_name":"Fay","id":"c6","joined":"2025-01-03T12:00:00.123456+00:00","profile":{},"region":"US","score":1,"tags":[],"tier":"Silver"}',18,2,'put',1192463313);
INSERT INTO entity_history VALUES(68,'Product','p1','{"price":"14.99","sku":"p1","stock":1,"title":"A plain lamp 2"}',19,2,'put',84428665);
INSERT INTO entity_history VALUES(69,'Product','p2','{"price":"10000000000000000","sku":"p2","stock":0,"title":"A lamp of gold"}',19,2,'put',626466607);
INSERT INTO entity_history VALUES(70,'Product','p3','{"price":"5e-324","sku":"p3","stock":9223372036854775807,"title":"Tiny"}',19,2,'put',362532050);
INSERT INTO entity_history VALUES(71,'Product','p4','{"price":"-0.1","sku":"p4","stock":-9223372036854775808,"title":"Negative"}',19,2,'put',303509168);
INSERT INTO entity_history VALUES(72,'Document','d1','{"id":"d1","text":"The first draft"}',20,1,'put',3999946610);
INSERT INTO entity_history VALUES(73,'Document','d2','{"id":"d2","text":"Second, of <b>words</b>"}',20,1,'put',3422913960);
INSERT INTO entity_history VALUES(74,'Draft','d1','{}',20,1,'delete',1286973246);
INSERT INTO entity_history VALUES(75,'Draft','d2','{}',20,1,'delete',2965133556);
INSERT INTO entity_history VALUES(76,'Document','d4','{"id":"d4","text":"after the rename"}',21,1,'put',4066875687);
INSERT INTO entity_history VALUES(77,'Product','p5','{"price":"5","sku":"p5","stock":5,"title":"Another lamp"}',21,2,'put',1879593976);
INSERT INTO entity_history VALUES(78,'Old','%41','{}',22,1,'delete',2696734650);
INSERT INTO entity_history VALUES(79,'Old','''quoted''','{}',22,1,'delete',291326979);
INSERT INTO entity_history VALUES(80,'Old','-','{}',22,1,'delete',3133468046);
INSERT INTO entity_history VALUES(81,'Old','C1','{}',22,1,'delete',4162794495);
INSERT INTO entity_history VALUES(82,'Old','True','{}',22,1,'delete',3782983657);
INSERT INTO entity_history VALUES(83,'Old','a b','{}',22,1,'delete',572463188);
INSERT INTO entity_history VALUES(84,'Old','a/b','{}',22,1,'delete',588836537);
INSERT INTO entity_history VALUES(85,'Old','c1 ','{}',22,1,'delete',631396167);
INSERT INTO entity_history VALUES(86,'Old','größe','{}',22,1,'delete',3306369590);
INSERT INTO entity_history VALUES(87,'Old','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk','{}',22,1,'delete',1067674335);
INSERT INTO entity_history VALUES(88,'Old','o1','{}',22,1,'delete',2558922365);
INSERT INTO entity_history VALUES(89,'Old','o2','{}',22,1,'delete',1687155127);
INSERT INTO entity_history VALUES(90,'Old',' ','{}',22,1,'delete',3085173281);
INSERT INTO entity_history VALUES(91,'Old','😀','{}',22,1,'delete',2404554059);
INSERT INTO entity_history VALUES(92,'Old','o1','{"name":"o1","size":2.5}',23,2,'put',1065592572);
INSERT INTO entity_history VALUES(93,'Old','o9','{"name":"o9","size":9}',26,2,'put',319682761);
INSERT INTO entity_history VALUES(94,'Old','paid','{"name":"paid","size":1}',27,2,'put',412793985);
INSERT INTO entity_history VALUES(95,'Old','bill-o1','{"name":"bill-o1","size":1.5}',28,2,'put',3993850090);
INSERT INTO entity_history VALUES(96,'Old','bill-o4','{"name":"bill-o4","size":4.5}',29,2,'put',3762101526);
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
    onto_sum INTEGER,
    FOREIGN KEY (commit_id) REFERENCES commits(id)
);
INSERT INTO relation_history VALUES(1,'Bought','c1','p1','','{"at":"2025-01-20T12:00:00.123456+00:00","quantity":2}',3,1,'put',732481416);
INSERT INTO relation_history VALUES(2,'Bought','c1','p2','','{"at":"2025-01-21T12:00:00.123456+00:00","quantity":1,"remark":"a gift"}',3,1,'put',4130458914);
INSERT INTO relation_history VALUES(3,'Bought','c2','p1','','{"at":"2025-01-22T12:00:00.123456+00:00","quantity":5}',3,1,'put',1254719371);
INSERT INTO relation_history VALUES(4,'Bought','c9','p1','','{"at":"2025-01-23T12:00:00.123456+00:00","quantity":7,"remark":"of a customer that is not there"}',3,1,'put',2680954272);
INSERT INTO relation_history VALUES(5,'Stint','c1','p1','2024','{"pay":10.5,"role":"lead tester"}',3,1,'put',771123346);
INSERT INTO relation_history VALUES(6,'Stint','c1','p1','2025','{"pay":11,"role":"tester"}',3,1,'put',4131370250);
INSERT INTO relation_history VALUES(7,'Stint','c2','p3',' ','{"pay":0,"role":"helper of a blank year"}',3,1,'put',1798175969);
INSERT INTO relation_history VALUES(8,'Bought','c1','p2','','{}',4,1,'delete',1499568898);
INSERT INTO relation_history VALUES(9,'Cites','d2','d1','','{}',5,1,'put',3876793277);
INSERT INTO relation_history VALUES(10,'Replaces','o2','o1','','{"why":"newer"}',5,1,'put',4198264584);
INSERT INTO relation_history VALUES(11,'Bought','c1','p2','','{"at":"2025-01-25T12:00:00.123456+00:00","quantity":9007199254740993,"remark":""}',6,1,'put',2692838252);
INSERT INTO relation_history VALUES(12,'Replaces','a/b','größe','','{"why":"odd"}',7,1,'put',3276655141);
INSERT INTO relation_history VALUES(13,'Replaces','größe','a/b','','{"why":"odd"}',7,1,'put',3068752097);
INSERT INTO relation_history VALUES(14,'Cites','d2','d1','','{}',14,1,'delete',2308594033);
INSERT INTO relation_history VALUES(15,'Cites','d1','d2','','{}',15,1,'put',4268891886);
INSERT INTO relation_history VALUES(16,'Cites','d4','d1','','{}',21,2,'put',2031768859);
INSERT INTO relation_history VALUES(17,'Replaces','a/b','größe','','{}',22,1,'delete',3953287692);
INSERT INTO relation_history VALUES(18,'Replaces','größe','a/b','','{}',22,1,'delete',2778531325);
INSERT INTO relation_history VALUES(19,'Replaces','o2','o1','','{}',22,1,'delete',461235437);
INSERT INTO relation_history VALUES(20,'Stint','c6','p5','2026','{"paid":true,"pay":1,"role":"buyer"}',24,2,'put',183472923);
INSERT INTO relation_history VALUES(21,'Bought','c1','p1','','{"at":"2025-01-20T12:00:00.123456+00:00","pieces":2}',25,2,'put',2975806240);
INSERT INTO relation_history VALUES(22,'Bought','c1','p2','','{"at":"2025-01-25T12:00:00.123456+00:00","pieces":9007199254740993,"remark":""}',25,2,'put',3443640279);
INSERT INTO relation_history VALUES(23,'Bought','c2','p1','','{"at":"2025-01-22T12:00:00.123456+00:00","pieces":5}',25,2,'put',3116077559);
INSERT INTO relation_history VALUES(24,'Bought','c9','p1','','{"at":"2025-01-23T12:00:00.123456+00:00","pieces":7,"remark":"of a customer that is not there"}',25,2,'put',2107048744);
CREATE TABLE schema_registry (
    type_kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    schema_json TEXT NOT NULL,
    PRIMARY KEY (type_kind, type_name)
);
INSERT INTO schema_registry VALUES('entity','Customer','{"fields":{"active":{"type":"bool"},"age":{"index":true,"optional":true,"type":"float"},"full_name":{"index":true,"search":true,"type":"string"},"id":{"type":"string"},"joined":{"type":"time"},"note":{"optional":true,"type":"any"},"profile":{"type":"object"},"region":{"default":"EU","type":"string"},"score":{"type":"float"},"tags":{"type":"list"},"tier":{"index":true,"type":"string"}},"key":"id","kind":"entity","name":"Customer"}');
INSERT INTO schema_registry VALUES('entity','Product','{"fields":{"price":{"type":"string"},"sku":{"type":"string"},"stock":{"index":true,"type":"int"},"title":{"index":true,"type":"string"}},"key":"sku","kind":"entity","name":"Product"}');
INSERT INTO schema_registry VALUES('relation','Bought','{"fields":{"at":{"type":"time"},"pieces":{"index":true,"type":"int"},"remark":{"optional":true,"type":"string"}},"kind":"relation","left":"Customer","name":"Bought","right":"Product"}');
INSERT INTO schema_registry VALUES('relation','Cites','{"fields":{},"kind":"relation","left":"Document","name":"Cites","right":"Document"}');
INSERT INTO schema_registry VALUES('relation','Stint','{"fields":{"paid":{"optional":true,"type":"bool"},"pay":{"index":true,"type":"float"},"role":{"type":"string"}},"instance_key":"year","kind":"relation","left":"Customer","name":"Stint","right":"Product"}');
INSERT INTO schema_registry VALUES('entity','Document','{"fields":{"id":{"type":"string"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Document"}');
INSERT INTO schema_registry VALUES('entity','Old','{"fields":{"name":{"type":"string"},"size":{"type":"float"}},"key":"name","kind":"entity","name":"Old"}');
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
INSERT INTO schema_versions VALUES(1,'entity','Customer',1,'{"fields":{"active":{"type":"bool"},"age":{"index":true,"optional":true,"type":"int"},"id":{"type":"string"},"joined":{"type":"time"},"name":{"search":true,"type":"string"},"note":{"optional":true,"type":"any"},"profile":{"type":"object"},"score":{"type":"float"},"tags":{"type":"list"},"tier":{"default":"Bronze","index":true,"type":"string"}},"key":"id","kind":"entity","name":"Customer"}','dc528131bfd5fca00bfe8cfea7845321138319cb876da950bacbe2c039343c94','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(2,'entity','Draft',1,'{"fields":{"id":{"type":"string"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Draft"}','6172c801c85de48a28af363e88d7c73677d04dfbb571303d00fe253e6dd01a98','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,'{"commit":20,"renamed_to":"Document","runtime":"vm-26260-2ISSCZ","time":"2026-03-01T08:01:15.00006Z"}');
INSERT INTO schema_versions VALUES(3,'entity','Old',1,'{"fields":{"count":{"type":"int"},"id":{"type":"string"}},"key":"id","kind":"entity","name":"Old"}','b5c81767bd4b7db08f9c4aa84c89677f7eeddb64895ba8f6192158f2ea820483','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,'{"commit":22,"runtime":"vm-26260-RDMQVM","time":"2026-03-01T08:01:26.250069Z"}');
INSERT INTO schema_versions VALUES(4,'entity','Product',1,'{"fields":{"price":{"index":true,"type":"float"},"sku":{"type":"string"},"stock":{"type":"int"},"title":{"search":true,"type":"string"}},"key":"sku","kind":"entity","name":"Product"}','665c344a4ce1d5746d75bdf8359bb6e7481083baf1ee0173c11048393860a9c0','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(5,'entity','Secret',1,'{"fields":{"id":{"type":"string"},"pin":{"type":"string"}},"key":"id","kind":"entity","name":"Secret"}','30d5b307ecf072ddd92688ea711f7f4f6788a731200b24521f5ab2c9e7f4de22','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,'{"commit":23,"purged":true,"runtime":"vm-26260-NFBHWY","time":"2026-03-01T08:01:35.000076Z","versions":15}');
INSERT INTO schema_versions VALUES(6,'relation','Bought',1,'{"fields":{"at":{"type":"time"},"quantity":{"index":true,"type":"int"},"remark":{"optional":true,"type":"string"}},"kind":"relation","left":"Customer","name":"Bought","right":"Product"}','68ff8361d9c4af483753bea7af5bd5789388530c5640dbcdc3ee28e9bd1c5b20','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(7,'relation','Cites',1,'{"fields":{},"kind":"relation","left":"Draft","name":"Cites","right":"Draft"}','2162ddb0a9cfed9c0952d3b0c8dd920895dab3f515ec6ccb6650351637ade4f3','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(8,'relation','Replaces',1,'{"fields":{"why":{"type":"string"}},"kind":"relation","left":"Old","name":"Replaces","right":"Old"}','9522e3834ef0e80bd199cf776db30240194a96b74c9889c06174717929580ed6','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,'{"commit":22,"runtime":"vm-26260-RDMQVM","time":"2026-03-01T08:01:26.250069Z"}');
INSERT INTO schema_versions VALUES(9,'relation','Stint',1,'{"fields":{"pay":{"type":"float"},"role":{"search":true,"type":"string"}},"instance_key":"year","kind":"relation","left":"Customer","name":"Stint","right":"Product"}','1f3cf9ae07866841c0c9ea1b029ad950e899571c92f87d5dce95a6bfbbebf4bc','2026-03-01T08:00:03.750003+00:00','program of format 4','initial',1,NULL,NULL);
INSERT INTO schema_versions VALUES(10,'entity','Customer',2,'{"fields":{"active":{"type":"bool"},"age":{"index":true,"optional":true,"type":"float"},"full_name":{"index":true,"search":true,"type":"string"},"id":{"type":"string"},"joined":{"type":"time"},"note":{"optional":true,"type":"any"},"profile":{"type":"object"},"region":{"default":"EU","type":"string"},"score":{"type":"float"},"tags":{"type":"list"},"tier":{"index":true,"type":"string"}},"key":"id","kind":"entity","name":"Customer"}','945bdcb4d521979ec2c417b5559f4f2c7b87b2133b738d293c5801e616a96bdb','2026-03-01T08:00:55.000044+00:00','vm-26260-27GY7N','migration',17,'{"program":"if has(\"name\") then .[\"full_name\"] = .[\"name\"] | del(.[\"name\"]) else . end"}',NULL);
INSERT INTO schema_versions VALUES(11,'entity','Product',2,'{"fields":{"price":{"type":"string"},"sku":{"type":"string"},"stock":{"index":true,"type":"int"},"title":{"index":true,"type":"string"}},"key":"sku","kind":"entity","name":"Product"}','a78e3a3f846479efb8daf0ca38fce5e01a167dcc8c98d9127ca3696f4d96835a','2026-03-01T08:01:06.250053+00:00','vm-26260-C6TRGG','migration',19,'{"program":".price |= tostring"}',NULL);
INSERT INTO schema_versions VALUES(12,'entity','Document',1,'{"fields":{"id":{"type":"string"},"text":{"search":true,"type":"string"}},"key":"id","kind":"entity","name":"Document"}','0f4cb31f5441059c01355afbf6f2df6105e04394378d09d45be846e0b6ad9320','2026-03-01T08:01:15.000060+00:00','vm-26260-2ISSCZ','migration',20,'{"from_version":1,"renamed_from":"Draft"}',NULL);
INSERT INTO schema_versions VALUES(13,'relation','Cites',2,'{"fields":{},"kind":"relation","left":"Document","name":"Cites","right":"Document"}','3174b7ae45de4a58f7a8c73e9f0a482a7fe128db38d42a767d9e8952c735f638','2026-03-01T08:01:15.000060+00:00','vm-26260-2ISSCZ','migration',20,'{}',NULL);
INSERT INTO schema_versions VALUES(14,'entity','Old',2,'{"fields":{"name":{"type":"string"},"size":{"type":"float"}},"key":"name","kind":"entity","name":"Old"}','a2dd2fc9a2b7e169fdea3eed570054df251bd35413cb384924acb391da667e1e','2026-03-01T08:01:40.000080+00:00','program of format 4','initial',23,NULL,NULL);
INSERT INTO schema_versions VALUES(15,'relation','Stint',2,'{"fields":{"paid":{"optional":true,"type":"bool"},"pay":{"index":true,"type":"float"},"role":{"type":"string"}},"instance_key":"year","kind":"relation","left":"Customer","name":"Stint","right":"Product"}','6e8b7dcc2d58c2fc6309e7a4eaf1ca75c5301d4827009b3525a2ff9a76d49c94','2026-03-01T08:01:48.750087+00:00','vm-26260-QBMHVI','migration',24,'{}',NULL);
INSERT INTO schema_versions VALUES(16,'relation','Bought',2,'{"fields":{"at":{"type":"time"},"pieces":{"index":true,"type":"int"},"remark":{"optional":true,"type":"string"}},"kind":"relation","left":"Customer","name":"Bought","right":"Product"}','f65c1ae258958d3ce4e2db69dca90c5a5df6039c17a54002aa7e36a3039dfd97','2026-03-01T08:02:00.000096+00:00','vm-26260-URRK2U','migration',25,'{"func":true}',NULL);
CREATE TABLE locks (
    lock_name TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    acquired_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
INSERT INTO locks VALUES('held','batch-2','2026-03-01T08:02:10.000104+00:00','2026-03-02T08:02:10.000104+00:00');
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
INSERT INTO entity_current VALUES('Customer','c1',17,1,'put',2,X'cc976761637469766502376167652332319766756c6c5f6e616d65c70c416461204c6f76656c616365276964276331676a6f696e6564c720323032352d30312d30315431323a30303a30302e3132333435362b30303a30307770726f66696c65cc0c4763697479275346176e133167726567696f6e2745555773636f726535312e3547746167737b27743137616c6c477469657247476f6c64');
INSERT INTO entity_current VALUES('Customer','c2',17,1,'put',2,X'dc017067616374697665019766756c6c5f6e616d65c70f426f6220746865204275696c646572276964276332676a6f696e6564c720323032352d30312d30325431323a30303a30302e3132333435362b30303a3030476e6f7465cbd5ccd327696ecbcecccc27696ecbc7ccc527696ecbc0ccbe27696ecbb9ccb727696ecbb2ccb027696ecbabcca927696ecba4cca227696ecb9dcc9b27696ecb96cc9427696ecb8fcc8d27696ecb88cc8627696ecb81cc7f27696ecb7acc7827696ecb73cc7127696ecb6ccc6a27696ecb65cc6327696ecb5ecc5c27696ecb57cc5527696ecb50cc4e27696ecb49cc4727696ecb42cc4027696ecb3bcc3927696ecb34cc3227696ecb2dcc2b27696ecb26cc2427696ecb1fcc1d27696ecb18cc1627696ecb11cc0f27696ebbac27696e67626f74746f6d7770726f66696c65cc0f4763697479574bc3b66c6e176e133267726567696f6e2745555773636f7265133347746167737b27743037616c6c477469657247476f6c64');
INSERT INTO entity_current VALUES('Customer','c3',17,1,'put',2,X'cc976761637469766502376167652332339766756c6c5f6e616d65a74379206973206261636b276964276333676a6f696e6564c720303030312d30312d30315430303a30303a30302e3030303030302b30303a3030476e6f7465cc1017614331303030176d2b0b0c177a13317770726f66696c650c67726567696f6e2745555773636f7265133047746167730b47746965726742726f6e7a65');
INSERT INTO entity_current VALUES('Customer','c4',17,1,'put',2,X'ccaf6761637469766501376167652332349766756c6c5f6e616d65974772c3b6c39f652035276964276334676a6f696e6564c720323032352d30312d30345431323a30303a30302e3132333435362b30303a3030476e6f746513357770726f66696c65cc0f4763697479574bc3b66c6e176e133467726567696f6e2745555773636f7265c512312e3636363636363636363636363636363747746167737b27743037616c6c47746965726753696c766572');
INSERT INTO entity_current VALUES('Customer','c5',18,1,'delete',2,X'0c');
INSERT INTO entity_current VALUES('Customer','c6',18,18,'put',2,X'cc7b6761637469766501376167654533302e359766756c6c5f6e616d6537466179276964276336676a6f696e6564c720323032352d30312d30335431323a30303a30302e3132333435362b30303a30307770726f66696c650c67726567696f6e2755535773636f7265133147746167730b47746965726753696c766572');
INSERT INTO entity_current VALUES('Document','d1',20,20,'put',1,X'cc1c2769642764314774657874c70f546865206669727374206472616674');
INSERT INTO entity_current VALUES('Document','d2',20,20,'put',1,X'cc242769642764324774657874c7175365636f6e642c206f66203c623e776f7264733c2f623e');
INSERT INTO entity_current VALUES('Document','d4',21,21,'put',1,X'cc1d2769642764344774657874c7106166746572207468652072656e616d65');
INSERT INTO entity_current VALUES('Draft','d1',20,5,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Draft','d2',20,5,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Draft','d3',14,5,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','%41',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','''quoted''',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','-',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','1.0',14,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','C1',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','True',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','a b',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','a/b',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','bill-o1',28,28,'put',2,X'cc16476e616d657762696c6c2d6f314773697a6535312e35');
INSERT INTO entity_current VALUES('Old','bill-o4',29,29,'put',2,X'cc16476e616d657762696c6c2d6f344773697a6535342e35');
INSERT INTO entity_current VALUES('Old','c1 ',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','größe',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','o1',23,5,'put',2,X'cc11476e616d65276f314773697a6535322e35');
INSERT INTO entity_current VALUES('Old','o2',22,5,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','o9',26,26,'put',2,X'cc0f476e616d65276f394773697a651339');
INSERT INTO entity_current VALUES('Old','paid',27,27,'put',2,X'cc11476e616d6547706169644773697a651331');
INSERT INTO entity_current VALUES('Old',' ',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Old','😀',22,7,'delete',1,X'0c');
INSERT INTO entity_current VALUES('Product','p1',19,2,'put',2,X'cc315770726963655731342e393937736b752770315773746f636b1331577469746c65c70e4120706c61696e206c616d702032');
INSERT INTO entity_current VALUES('Product','p2',19,2,'put',2,X'cc3e577072696365c711313030303030303030303030303030303037736b752770325773746f636b1330577469746c65c70e41206c616d70206f6620676f6c64');
INSERT INTO entity_current VALUES('Product','p3',19,2,'put',2,X'cc3a5770726963656735652d33323437736b752770335773746f636bc31339323233333732303336383534373735383037577469746c654754696e79');
INSERT INTO entity_current VALUES('Product','p4',19,2,'put',2,X'cc3d577072696365472d302e3137736b752770345773746f636bc3142d39323233333732303336383534373735383038577469746c65874e65676174697665');
INSERT INTO entity_current VALUES('Product','p5',21,21,'put',2,X'cc2b577072696365173537736b752770355773746f636b1335577469746c65c70c416e6f74686572206c616d70');
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
INSERT INTO relation_current VALUES('Bought','c1','p1','',25,3,'put',2,X'cc2e276174c720323032352d30312d32305431323a30303a30302e3132333435362b30303a3030677069656365731332');
INSERT INTO relation_current VALUES('Bought','c1','p2','',25,3,'put',2,X'cc46276174c720323032352d30312d32355431323a30303a30302e3132333435362b30303a303067706965636573c310393030373139393235343734303939336772656d61726b07');
INSERT INTO relation_current VALUES('Bought','c2','p1','',25,3,'put',2,X'cc2e276174c720323032352d30312d32325431323a30303a30302e3132333435362b30303a3030677069656365731335');
INSERT INTO relation_current VALUES('Bought','c9','p1','',25,3,'put',2,X'cc56276174c720323032352d30312d32335431323a30303a30302e3132333435362b30303a30306770696563657313376772656d61726bc71f6f66206120637573746f6d65722074686174206973206e6f74207468657265');
INSERT INTO relation_current VALUES('Cites','d1','d2','',15,15,'put',1,X'0c');
INSERT INTO relation_current VALUES('Cites','d2','d1','',14,5,'delete',1,X'0c');
INSERT INTO relation_current VALUES('Cites','d4','d1','',21,21,'put',2,X'0c');
INSERT INTO relation_current VALUES('Replaces','a/b','größe','',22,7,'delete',1,X'0c');
INSERT INTO relation_current VALUES('Replaces','größe','a/b','',22,7,'delete',1,X'0c');
INSERT INTO relation_current VALUES('Replaces','o2','o1','',22,5,'delete',1,X'0c');
INSERT INTO relation_current VALUES('Stint','c1','p1','2024',3,3,'put',1,X'cc1a377061794531302e3547726f6c65b76c65616420746573746572');
INSERT INTO relation_current VALUES('Stint','c1','p1','2025',3,3,'put',1,X'cc133770617923313147726f6c6567746573746572');
INSERT INTO relation_current VALUES('Stint','c2','p3',' ',3,3,'put',1,X'cc2337706179133047726f6c65c71668656c706572206f66206120626c616e6b2079656172');
INSERT INTO relation_current VALUES('Stint','c6','p5','2026',24,24,'put',2,X'cc1747706169640137706179133147726f6c65576275796572');
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
INSERT INTO onto_meta VALUES(1,4,'8fa1c3e2-b1fd-4aca-b3fd-55d5cee1ad29',0,1,13,NULL,NULL);
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
INSERT INTO onto_derived VALUES(9,'entity','Customer','full_name','index');
INSERT INTO onto_derived VALUES(10,'entity','Customer','full_name','search');
INSERT INTO onto_derived VALUES(11,'entity','Product','stock','index');
INSERT INTO onto_derived VALUES(12,'entity','Product','title','index');
INSERT INTO onto_derived VALUES(13,'entity','Document','text','search');
INSERT INTO onto_derived VALUES(14,'relation','Stint','pay','index');
INSERT INTO onto_derived VALUES(15,'relation','Bought','pieces','index');
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
INSERT INTO onto_entity_past VALUES('Customer',16,1,1);
INSERT INTO onto_entity_past VALUES('Customer',17,1,5);
INSERT INTO onto_entity_past VALUES('Customer',17,4,10);
INSERT INTO onto_entity_past VALUES('Customer',17,6,19);
INSERT INTO onto_entity_past VALUES('Customer',17,13,56);
INSERT INTO onto_entity_past VALUES('Customer',17,16,60);
INSERT INTO onto_entity_past VALUES('Customer',18,17,65);
INSERT INTO onto_entity_past VALUES('Draft',14,5,14);
INSERT INTO onto_entity_past VALUES('Draft',20,5,12);
INSERT INTO onto_entity_past VALUES('Draft',20,5,13);
INSERT INTO onto_entity_past VALUES('Old',14,7,23);
INSERT INTO onto_entity_past VALUES('Old',22,5,15);
INSERT INTO onto_entity_past VALUES('Old',22,5,16);
INSERT INTO onto_entity_past VALUES('Old',22,7,20);
INSERT INTO onto_entity_past VALUES('Old',22,7,21);
INSERT INTO onto_entity_past VALUES('Old',22,7,22);
INSERT INTO onto_entity_past VALUES('Old',22,7,24);
INSERT INTO onto_entity_past VALUES('Old',22,7,25);
INSERT INTO onto_entity_past VALUES('Old',22,7,26);
INSERT INTO onto_entity_past VALUES('Old',22,7,27);
INSERT INTO onto_entity_past VALUES('Old',22,7,28);
INSERT INTO onto_entity_past VALUES('Old',22,7,29);
INSERT INTO onto_entity_past VALUES('Old',22,7,30);
INSERT INTO onto_entity_past VALUES('Old',22,7,31);
INSERT INTO onto_entity_past VALUES('Old',22,7,32);
INSERT INTO onto_entity_past VALUES('Old',23,22,88);
INSERT INTO onto_entity_past VALUES('Product',8,2,6);
INSERT INTO onto_entity_past VALUES('Product',9,8,47);
INSERT INTO onto_entity_past VALUES('Product',10,9,49);
INSERT INTO onto_entity_past VALUES('Product',11,10,51);
INSERT INTO onto_entity_past VALUES('Product',12,11,53);
INSERT INTO onto_entity_past VALUES('Product',13,12,55);
INSERT INTO onto_entity_past VALUES('Product',19,2,7);
INSERT INTO onto_entity_past VALUES('Product',19,2,8);
INSERT INTO onto_entity_past VALUES('Product',19,2,9);
INSERT INTO onto_entity_past VALUES('Product',19,13,57);
CREATE TABLE onto_relation_past (
    relation_type TEXT NOT NULL,
    until INTEGER NOT NULL,
    since INTEGER NOT NULL,
    history_id INTEGER NOT NULL,
    PRIMARY KEY (relation_type, until, since, history_id)
) WITHOUT ROWID;
INSERT INTO onto_relation_past VALUES('Bought',4,3,2);
INSERT INTO onto_relation_past VALUES('Bought',6,4,8);
INSERT INTO onto_relation_past VALUES('Bought',25,3,1);
INSERT INTO onto_relation_past VALUES('Bought',25,3,3);
INSERT INTO onto_relation_past VALUES('Bought',25,3,4);
INSERT INTO onto_relation_past VALUES('Bought',25,6,11);
INSERT INTO onto_relation_past VALUES('Cites',14,5,9);
INSERT INTO onto_relation_past VALUES('Replaces',22,5,10);
INSERT INTO onto_relation_past VALUES('Replaces',22,7,12);
INSERT INTO onto_relation_past VALUES('Replaces',22,7,13);
CREATE TABLE onto_leases (
    name TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL
);
INSERT INTO onto_leases VALUES('ontology_write',7);
INSERT INTO onto_leases VALUES('nightly',2);
INSERT INTO onto_leases VALUES('held',1);
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
INSERT INTO onto_lease_breaks VALUES(1,'nightly','batch-1',1,'2026-03-01T08:02:05.000100+00:00','2026-03-02T08:02:05.000100+00:00','2026-03-01T08:02:12.500106+00:00','program of format 4','operator','ana','it hung');
CREATE TABLE events (
    id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 100,
    root_event_id TEXT NOT NULL,
    chain_depth INTEGER NOT NULL DEFAULT 0,
    onto_seq INTEGER,
    ordering_key TEXT,
    commit_id INTEGER,
    parent_event_id TEXT,
    replay_of TEXT,
    not_before TEXT
);
INSERT INTO events VALUES('01a1f094-7684-734e-9192-4150e57fde99','default','OrderPaid','{"amount":1.5,"order":"o1"}','2026-03-01T08:02:17.500110+00:00',100,'01a1f094-7684-734e-9192-4150e57fde99',0,1,'o1',27,NULL,NULL,NULL);
INSERT INTO events VALUES('01a1f094-7684-73af-b755-f907f63b625b','default','OrderPaid','{"amount":2.5,"order":"o2"}','2026-03-01T08:02:17.500111+00:00',100,'01a1f094-7684-73af-b755-f907f63b625b',0,2,'o2',27,NULL,NULL,NULL);
INSERT INTO events VALUES('01a1f094-7684-76d0-86d4-d55337d81b2d','default','Reminder','{"text":"größe"}','2026-03-01T08:02:17.500112+00:00',100,'01a1f094-7684-76d0-86d4-d55337d81b2d',0,3,NULL,27,NULL,NULL,NULL);
INSERT INTO events VALUES('01a1f094-7684-7898-99b9-43f46c3b03fb','other','OrderPaid','{"amount":3,"order":"o3"}','2026-03-01T08:02:17.500113+00:00',100,'01a1f094-7684-7898-99b9-43f46c3b03fb',0,4,'o3',27,NULL,NULL,NULL);
INSERT INTO events VALUES('01a1f094-7684-794d-a7a9-38e3bdf93388','default','OrderPaid','{"amount":4.5,"order":"o4"}','2026-03-01T08:02:20.000112+00:00',100,'01a1f094-7684-794d-a7a9-38e3bdf93388',0,5,'o4',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('01a1f094-7684-7d0b-ac22-af84a59055c8','default','Reminder','{"text":"later"}','2026-03-01T08:02:20.000113+00:00',100,'01a1f094-7684-7d0b-ac22-af84a59055c8',0,6,NULL,NULL,NULL,NULL,NULL);
INSERT INTO events VALUES('01a1f094-7688-7238-81ad-efd02299c51b','default','Reminder','{"text":"billed o1"}','2026-03-01T08:02:27.500118+00:00',100,'01a1f094-7684-734e-9192-4150e57fde99',1,7,NULL,28,'01a1f094-7684-734e-9192-4150e57fde99',NULL,NULL);
INSERT INTO events VALUES('01a1f094-768d-7657-bda8-e1ccad6cd136','default','Reminder','{"text":"billed o4"}','2026-03-01T08:02:32.500122+00:00',100,'01a1f094-7684-794d-a7a9-38e3bdf93388',1,8,NULL,29,'01a1f094-7684-794d-a7a9-38e3bdf93388',NULL,NULL);
INSERT INTO events VALUES('01a1f094-768e-7579-a7eb-99f08c0d8c2b','default','event.dead_letter','{"attempts":1,"deliveries":1,"error":"no money","event_id":"01a1f094-7684-73af-b755-f907f63b625b","event_type":"OrderPaid","handler":"billing","namespace":"default","ordering_key":"o2"}','2026-03-01T08:02:35.000124+00:00',100,'01a1f094-7684-73af-b755-f907f63b625b',1,9,NULL,NULL,'01a1f094-7684-73af-b755-f907f63b625b',NULL,NULL);
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
    deliveries INTEGER NOT NULL DEFAULT 0,
    onto_queued INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, handler_id)
);
INSERT INTO event_claims VALUES('01a1f094-7684-734e-9192-4150e57fde99','billing','session-1','2026-03-01T08:02:25.000116+00:00','2026-03-01T08:02:55.000116+00:00','2026-03-01T08:02:27.500118+00:00',0,'2026-03-01T08:02:25.000116+00:00',NULL,NULL,1,0);
INSERT INTO event_claims VALUES('01a1f094-7684-73af-b755-f907f63b625b','billing','session-1','2026-03-01T08:02:30.000120+00:00','2026-03-01T08:02:35.000124+00:00',NULL,1,'2026-03-01T08:02:35.000124+00:00','no money','2026-03-01T08:02:35.000124+00:00',1,0);
INSERT INTO event_claims VALUES('01a1f094-7684-794d-a7a9-38e3bdf93388','billing','session-1','2026-03-01T08:02:30.000120+00:00','2026-03-01T08:03:00.000120+00:00','2026-03-01T08:02:32.500122+00:00',0,'2026-03-01T08:02:30.000120+00:00',NULL,NULL,1,0);
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
    chain_depth INTEGER NOT NULL,
    deliveries INTEGER,
    event_created_at TEXT,
    priority INTEGER,
    ordering_key TEXT,
    commit_id INTEGER,
    parent_event_id TEXT,
    replay_of TEXT,
    not_before TEXT,
    resolved_at TEXT,
    resolution TEXT,
    resolved_by_kind TEXT,
    resolved_by TEXT,
    replay_event_id TEXT
);
INSERT INTO dead_letters VALUES(1,'01a1f094-7684-73af-b755-f907f63b625b','billing','default','2026-03-01T08:02:35.000124+00:00',1,'no money','OrderPaid','{"amount":2.5,"order":"o2"}','01a1f094-7684-73af-b755-f907f63b625b',0,1,'2026-03-01T08:02:17.500111+00:00',100,'o2',27,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    started_at TEXT NOT NULL,
    last_heartbeat TEXT NOT NULL,
    metadata TEXT
);
CREATE TABLE onto_bus (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    last_at TEXT NOT NULL,
    special INTEGER NOT NULL DEFAULT 0
);
INSERT INTO onto_bus VALUES(1,9,'2026-03-01T08:02:35.000124+00:00',5);
CREATE TABLE onto_event_queues (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    handler_id TEXT NOT NULL,
    type TEXT NOT NULL,
    filled INTEGER NOT NULL,
    UNIQUE (namespace, handler_id, type)
);
INSERT INTO onto_event_queues VALUES(1,'default','billing','OrderPaid',6);
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
INSERT INTO onto_positions VALUES('mirror',6);
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_10','onto_search_10',0,'CREATE VIRTUAL TABLE onto_search_10 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_10_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_10_content VALUES(1,'ada lovelace');
INSERT INTO onto_search_10_content VALUES(2,'bob the builder');
INSERT INTO onto_search_10_content VALUES(3,'cy is back');
INSERT INTO onto_search_10_content VALUES(4,'große 5');
INSERT INTO onto_search_10_content VALUES(67,'fay');
CREATE TABLE IF NOT EXISTS 'onto_search_10_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_10_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_10_segdir VALUES(0,0,0,0,'0 97',X'0001350304030000036164610301020000046261636b0303040001026f6203020200010675696c646572030204000002637903030200000667726fc39f6503040200000269730303030000086c6f76656c61636503010300000374686503020300');
INSERT INTO onto_search_10_segdir VALUES(0,1,0,0,'0 9',X'000366617903430200');
CREATE TABLE IF NOT EXISTS 'onto_search_10_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_10_stat VALUES(0,X'050b30');
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','onto_search_13','onto_search_13',0,'CREATE VIRTUAL TABLE onto_search_13 USING fts4(words, tokenize=simple, matchinfo=fts3)');
CREATE TABLE IF NOT EXISTS 'onto_search_13_content'(docid INTEGER PRIMARY KEY, 'c0words');
INSERT INTO onto_search_13_content VALUES(72,'the first draft');
INSERT INTO onto_search_13_content VALUES(73,'second of b words b');
INSERT INTO onto_search_13_content VALUES(76,'after the rename');
CREATE TABLE IF NOT EXISTS 'onto_search_13_segments'(blockid INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE IF NOT EXISTS 'onto_search_13_segdir'(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,root BLOB,PRIMARY KEY(level, idx));
INSERT INTO onto_search_13_segdir VALUES(0,0,0,0,'0 70',X'00016204490404000005647261667403480400000566697273740348030000026f660349030000067365636f6e64034902000003746865034802000005776f72647303490500');
INSERT INTO onto_search_13_segdir VALUES(0,1,0,0,'0 32',X'00056166746572034c0200000672656e616d65034c04000003746865034c0300');
CREATE TABLE IF NOT EXISTS 'onto_search_13_stat'(id INTEGER PRIMARY KEY, value BLOB);
INSERT INTO onto_search_13_stat VALUES(0,X'030b32');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('schema_versions',16);
INSERT INTO sqlite_sequence VALUES('onto_derived',15);
INSERT INTO sqlite_sequence VALUES('commits',29);
INSERT INTO sqlite_sequence VALUES('entity_history',96);
INSERT INTO sqlite_sequence VALUES('relation_history',24);
INSERT INTO sqlite_sequence VALUES('onto_lease_breaks',1);
INSERT INTO sqlite_sequence VALUES('dead_letters',1);
CREATE INDEX idx_entity_history_lookup
    ON entity_history(entity_type, entity_key, commit_id DESC);
CREATE INDEX idx_relation_history_lookup
    ON relation_history(relation_type, left_key, right_key, instance_key, commit_id DESC);
CREATE INDEX onto_entity_history_commit ON entity_history(commit_id);
CREATE INDEX onto_relation_history_commit ON relation_history(commit_id);
CREATE UNIQUE INDEX onto_commits_idempotency ON commits(idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX onto_relation_current_right ON relation_current(relation_type, right_key);
CREATE INDEX idx_events_namespace_type_order
    ON events(namespace, type, priority DESC, created_at ASC, id ASC);
CREATE INDEX idx_event_claims_handler_state
    ON event_claims(handler_id, ack_at, dead_lettered_at, lease_until, available_at);
CREATE INDEX idx_event_claims_event ON event_claims(event_id);
CREATE INDEX idx_dead_letters_namespace_failed ON dead_letters(namespace, failed_at DESC);
CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
CREATE INDEX idx_sessions_namespace ON sessions(namespace);
CREATE INDEX onto_events_arrival ON events(namespace, type, onto_seq);
CREATE INDEX onto_events_foreign ON events(created_at, id) WHERE onto_seq IS NULL;
CREATE INDEX onto_events_commit ON events(commit_id, onto_seq) WHERE commit_id IS NOT NULL;
CREATE INDEX onto_event_claims_open ON event_claims(handler_id, max(lease_until, available_at))
    WHERE ack_at IS NULL AND dead_lettered_at IS NULL AND onto_queued = 0;
CREATE INDEX onto_dead_letters_event ON dead_letters(event_id);
CREATE INDEX onto_field_1 ON entity_current(fields ->> '$.age', op) WHERE entity_type = 'Customer' AND op = 'put';
CREATE INDEX onto_field_2 ON entity_current(fields ->> '$.tier', op) WHERE entity_type = 'Customer' AND op = 'put';
CREATE INDEX onto_field_9 ON entity_current(fields ->> '$.full_name', op) WHERE entity_type = 'Customer' AND op = 'put';
CREATE INDEX onto_field_11 ON entity_current(fields ->> '$.stock', op) WHERE entity_type = 'Product' AND op = 'put';
CREATE INDEX onto_field_12 ON entity_current(fields ->> '$.title', op) WHERE entity_type = 'Product' AND op = 'put';
CREATE INDEX onto_field_14 ON relation_current(fields ->> '$.pay', op) WHERE relation_type = 'Stint' AND op = 'put';
CREATE INDEX onto_field_15 ON relation_current(fields ->> '$.pieces', op) WHERE relation_type = 'Bought' AND op = 'put';
PRAGMA writable_schema=OFF;
COMMIT;
