package lake

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/protocol"
)

// logFaults are those of the head, the catalog and the manifests.
func logFaults() []fault {
	later := "2999-01-01T00:00:00.000000+00:00"
	return []fault{
		{"a head that is gone", "object_missing check_stopped", func(s *sample) string { s.remove(protocol.HeadKey); return protocol.HeadKey }},
		{"a head that is no JSON", "object_damaged check_stopped", func(s *sample) string { s.write(protocol.HeadKey, []byte("{")); return protocol.HeadKey }},
		{"a head that is older", "head_rewound", func(s *sample) string { return s.editHead(func(h *protocol.Head) { h.Sequence-- }) }},
		{"a head of another store", "head_rewound", func(s *sample) string { return s.editHead(func(h *protocol.Head) { h.StoreID = "X" }) }},
		{"a head with another number of attempts", "chain_broken", func(s *sample) string { return s.editHead(func(h *protocol.Head) { h.Recent = h.Recent[1:] }) }},
		{"a catalog that is gone", "object_missing check_stopped", func(s *sample) string { s.remove(s.tip().Head.Catalog); return s.tip().Head.Catalog }},
		{"a catalog of another store", "object_foreign", func(s *sample) string { return s.editCatalog(func(c *protocol.Catalog) { c.StoreID = "X" }) }},
		{"a catalog of another attempt", "catalog_differs", func(s *sample) string { return s.editCatalog(func(c *protocol.Catalog) { c.Attempt = "x" }) }},
		{"the newest manifest is gone", "object_missing check_stopped", func(s *sample) string { path, _ := s.round(0); s.remove(path); return path }},
		{"a manifest is gone", "object_missing", func(s *sample) string { path, _ := s.round(4); s.remove(path); return path }},
		{"a manifest that a checkpoint lists is gone", "object_missing", func(s *sample) string { path, _ := s.round(40); s.remove(path); return path }},
		{"two manifests are gone", "object_missing object_missing", func(s *sample) string {
			path, _ := s.round(3)
			next, _ := s.round(4)
			s.remove(path)
			s.remove(next)
			return path
		}},
		{"a manifest that is no JSON", "object_damaged", func(s *sample) string { path, _ := s.round(4); s.write(path, []byte("{")); return path }},
		{"a manifest that was changed", "object_damaged", func(s *sample) string {
			path, _ := s.round(4)
			s.write(path, bytes.Replace(s.read(path), []byte(`"created_at":"2`), []byte(`"created_at":"3`), 1))
			return path
		}},
		{"a catalog that was changed", "object_damaged check_stopped", func(s *sample) string {
			path := s.tip().Head.Catalog
			s.write(path, bytes.Replace(s.read(path), []byte(`"created_at":"2`), []byte(`"created_at":"3`), 1))
			return path
		}},
		{"a manifest of another store", "object_foreign", func(s *sample) string { return s.editRound(4, func(m *protocol.Manifest) { m.StoreID = "X" }) }},
		{"a manifest with another commit", "commit_gap", func(s *sample) string { return s.editRound(4, func(m *protocol.Manifest) { m.Commits[0].ID++ }) }},
		{"a manifest with a commit too many", "commit_gap", func(s *sample) string {
			return s.editRound(4, func(m *protocol.Manifest) { m.First--; m.Commits[0].ID-- })
		}},
		{"a manifest with another id", "chain_broken", func(s *sample) string { return s.editRound(4, func(m *protocol.Manifest) { m.Attempt = "x" }) }},
		{"a manifest in the place of another", "chain_broken", func(s *sample) string {
			other, _ := s.round(4)
			path, _ := s.round(3)
			s.write(path, s.read(other))
			return path
		}},
		{"a cycle", "chain_broken", func(s *sample) string {
			path, _ := s.round(0)
			s.editRound(4, func(m *protocol.Manifest) { m.ParentPath = &path })
			return path
		}},
		{"a manifest without a parent", "chain_broken", func(s *sample) string { return s.editRound(4, func(m *protocol.Manifest) { m.ParentPath = nil }) }},
		{"a manifest with another round", "chain_broken chain_broken", func(s *sample) string {
			s.editRound(4, func(m *protocol.Manifest) { m.Round++ })
			path, _ := s.round(3)
			return path
		}},
		{"a manifest with other ancestors", "chain_broken", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Ancestors = m.Ancestors[:5] })
		}},
		{"a manifest with other types touched", "chain_broken", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.LastTouched[0].Commit-- })
		}},
		{"a time that goes back", "commit_time_back", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Commits[0].Time = "2001-01-01T00:00:00.000000+00:00" })
		}},
		{"a time in another form", "time_form", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Commits[0].Time = strings.Replace(later, "+00:00", "Z", 1) })
		}},
		{"a time that cannot be read", "commit_time_unreadable", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Commits[0].Time = "soon" })
		}},
		{"metadata that is no object", "metadata_form", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Commits[0].Metadata = []byte(`[1]`) })
		}},
		{"a key that was used before", "key_twice", func(s *sample) string {
			s.editRound(0, func(m *protocol.Manifest) { m.Commits[0].Key = "k1" })
			return `"k1"`
		}},
		{"other operations than by type", "commit_incomplete", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Commits[0].Operations++ })
		}},
	}
}

// checkpointFaults are those of checkpoints, and of what the catalog says of them.
func checkpointFaults() []fault {
	return []fault{
		{"a checkpoint that is gone", "object_missing", func(s *sample) string {
			path := s.tip().Catalog.Checkpoints[0].Path
			s.remove(path)
			return path
		}},
		{"a checkpoint with another byte", "object_damaged", func(s *sample) string {
			path := s.tip().Catalog.Checkpoints[0].Path
			s.write(path, append(s.read(path), ' '))
			return path
		}},
		{"a checkpoint of another store", "object_foreign", func(s *sample) string {
			return s.editCheckpoint(func(d *protocol.Checkpoint) { d.StoreID = "X" })
		}},
		{"a checkpoint of other commits", "checkpoint_differs", func(s *sample) string {
			return s.editCheckpoint(func(d *protocol.Checkpoint) { d.Last++ })
		}},
		{"a checkpoint without a round", "checkpoint_differs", func(s *sample) string {
			return s.editCheckpoint(func(d *protocol.Checkpoint) { d.Rounds = slices.Delete(d.Rounds, 5, 6) })
		}},
		{"a checkpoint with another path", "checkpoint_differs", func(s *sample) string {
			return s.editCheckpoint(func(d *protocol.Checkpoint) { d.Rounds[5].Path = d.Rounds[6].Path })
		}},
		{"a checkpoint with another file", "checkpoint_differs", func(s *sample) string {
			return s.editCheckpoint(func(d *protocol.Checkpoint) { d.Rounds[5].Files[0].Rows++ })
		}},
		{"a checkpoint without a key", "checkpoint_differs", func(s *sample) string {
			return s.editCheckpoint(func(d *protocol.Checkpoint) { d.Keys = d.Keys[1:] })
		}},
		{"a checkpoint that does not begin with the first commit", "checkpoint_differs checkpoint_differs", func(s *sample) string {
			return s.editCatalog(func(c *protocol.Catalog) { c.Checkpoints[0].First = 2 })
		}},
	}
}

// fileFaults are those of data files, and of what is said about them.
func fileFaults() []fault {
	file := func(s *sample, n int) *protocol.FileEntry { _, m := s.round(n); return &m.Files[0] }
	return []fault{
		{"a file that is gone", "object_missing", func(s *sample) string { f := file(s, 2); s.remove(f.Path); return f.Path }},
		{"a file with another byte", "object_damaged", func(s *sample) string {
			f := file(s, 2)
			body := s.read(f.Path)
			body[len(body)/2] ^= 1
			s.write(f.Path, body)
			return f.Path
		}},
		{"a file that ends early", "object_damaged", func(s *sample) string {
			f := file(s, 2)
			s.write(f.Path, s.read(f.Path)[:f.Bytes-3])
			return f.Path
		}},
		{"two files in each other's place", "object_damaged object_damaged", func(s *sample) string {
			a, b := file(s, 2), file(s, 3)
			one, two := s.read(a.Path), s.read(b.Path)
			s.write(a.Path, two)
			s.write(b.Path, one)
			return b.Path // which is older
		}},
		{"a snapshot that is gone", "object_missing", func(s *sample) string {
			f := s.tip().Catalog.Tables[1].Files[0]
			s.remove(f.Path)
			return f.Path
		}},
		{"a damaged file that was compacted", "object_damaged", func(s *sample) string {
			path := s.compacted()
			s.write(path, []byte("x"))
			return path
		}},
		{"a file with another number of rows", "file_differs file_differs", func(s *sample) string {
			return s.editRound(2, func(m *protocol.Manifest) { m.Files[0].Rows++ })
		}},
		{"a file of other commits", "file_differs", func(s *sample) string {
			return s.editRound(2, func(m *protocol.Manifest) { m.Files[0].First-- })
		}},
		{"a file of another schema version", "file_differs", func(s *sample) string {
			path := ""
			s.editRound(2, func(m *protocol.Manifest) { m.Files[0].Version++; path = m.Files[0].Path })
			return path
		}},
		{"a file that is not said", "file_differs chain_broken", func(s *sample) string {
			return s.editRound(0, func(m *protocol.Manifest) { m.Files = m.Files[:0] })
		}},
		{"a file of another type", "file_differs", func(s *sample) string {
			body, path := s.read(s.tip().Catalog.Tables[0].Files[0].Path), ""
			s.editRound(0, func(m *protocol.Manifest) {
				f := &m.Files[0]
				path, f.SHA256, f.Bytes = f.Path, protocol.HashOf(body), int64(len(body))
			})
			s.write(path, body)
			return path
		}},
		{"a file that is no Parquet", "file_differs", func(s *sample) string {
			body, path := []byte("x"), ""
			s.editRound(0, func(m *protocol.Manifest) {
				f := &m.Files[0]
				path, f.SHA256, f.Bytes = f.Path, protocol.HashOf(body), int64(len(body))
			})
			s.write(path, body)
			return path
		}},
		{"files that overlap", "catalog_differs", func(s *sample) string {
			path := ""
			s.editCatalog(func(c *protocol.Catalog) {
				files := &c.Tables[1].Files
				again := (*files)[0]
				*files = append(*files, again)
				path = again.Path
			})
			return path
		}},
		{"a table without its file", strings.TrimSpace(strings.Repeat("commit_incomplete ", 3)), func(s *sample) string {
			s.editCatalog(func(c *protocol.Catalog) { c.Tables = c.Tables[1:] })
			return "commit 1:"
		}},
	}
}

// compacted is a file that a compaction has replaced.
func (s *sample) compacted() string {
	s.Helper()
	_, m := s.round(60)
	path := m.Files[0].Path
	for _, t := range s.tip().Catalog.Tables {
		for _, f := range t.Files {
			if f.Path == path {
				s.Fatalf("%s was not compacted", path)
			}
		}
	}
	return path
}

// versionFaults are those of rows, in files that are as they were written.
func versionFaults() []fault {
	id := onto.EntityID("Person", "a")
	rows := func(edit func(v *onto.Version)) func(s *sample) string {
		return func(s *sample) string {
			return s.editRows(func(list []onto.Version) []onto.Version { edit(&list[0]); return list })
		}
	}
	return []fault{
		{"a row of another commit", "file_differs", rows(func(v *onto.Version) { v.Commit-- })},
		{"a row of no commit", "version_without_commit", rows(func(v *onto.Version) { v.Commit += 5 })},
		{"rows out of order", "version_order", func(s *sample) string {
			return s.editRows(func(list []onto.Version) []onto.Version {
				first := list[0]
				first.Identity = onto.EntityID("Person", "zz")
				return []onto.Version{first, list[0]}
			})
		}},
		{"a row that comes twice", "version_twice version_unchanged", func(s *sample) string {
			return s.editRows(func(list []onto.Version) []onto.Version { return append(list, list[0]) })
		}},
		{"fields that are not canonical", "fields_not_canonical", rows(func(v *onto.Version) { v.Fields = bytes.Replace(v.Fields, []byte(":"), []byte(": "), 1) })},
		{"a repetition", "version_unchanged", rows(func(v *onto.Version) { v.Identity, v.Fields = id, []byte(`{"id":"a","n":2}`) })},
		{"a delete of nothing", "delete_of_nothing", rows(func(v *onto.Version) { v.Op, v.Fields = onto.Delete, []byte("{}") })},
		{"a delete that leaves fields", "delete_fields", rows(func(v *onto.Version) { v.Identity, v.Op = id, onto.Delete })},
		{"a row of an old schema version", "schema_since file_differs", func(s *sample) string {
			return s.editRows(func(list []onto.Version) []onto.Version { list[0].SchemaVersion = 1; return list })
		}},
		{"a row of an unknown schema version", "schema_unknown", func(s *sample) string {
			path := s.editRows(func(list []onto.Version) []onto.Version { list[0].SchemaVersion = 9; return list })
			s.editRound(0, func(m *protocol.Manifest) { m.Files[0].Version = 9 })
			return path
		}},
		{"a file that says that it is unique", "file_differs", func(s *sample) string {
			path := s.editRows(func(list []onto.Version) []onto.Version {
				list[0].Identity, list[0].Op, list[0].Fields = id, onto.Delete, []byte("{}")
				return list
			})
			s.editRound(0, func(m *protocol.Manifest) { m.Files[0].Unique = true })
			return path
		}},
		{"a file that says that it holds another identity", "file_differs", func(s *sample) string {
			s.editRound(0, func(m *protocol.Manifest) { m.Files[0].Identities = strings.Repeat("0", 16) })
			return "the identities whose hashes are given"
		}},
		{"an endpoint that is missing", "endpoint_missing", func(s *sample) string {
			s.commit("", knowsPut("a", "nobody", 1), knowsPut("a", "c", 1))
			return `there is no Person "nobody"`
		}},
		{"a subject that is missing", "endpoint_missing", func(s *sample) string {
			s.commit("", salaryPut("nobody", "s1", 1), salaryPut("a", "s4", 1), salaryPut("b", "s2", 1), ended(salaryPut("c", "s1", 1)))
			s.commit("", ended(salaryPut("b", "s2", 1)))
			return `Contract "nobody" salary ["s1"]: there is no Person "nobody"`
		}},
		{"more rows than operations", "file_differs commit_incomplete", func(s *sample) string {
			path := s.editRows(func(list []onto.Version) []onto.Version {
				more := list[0]
				more.Identity = onto.EntityID("Person", "zz")
				return append(list, more)
			})
			s.editRound(0, func(m *protocol.Manifest) {
				m.Files[0].Rows, m.Commits[0].Operations, m.Commits[0].Touched[0].Operations = 1, 1, 1
			})
			return path
		}},
		{"fewer rows by type than in the file", "file_differs", func(s *sample) string {
			s.commit("", entityPut("Person", "x", 2, 1), entityPut("Person", "y", 2, 1))
			return s.editRound(0, func(m *protocol.Manifest) {
				m.Commits[0].Operations, m.Commits[0].Touched[0].Operations = 1, 1
			})
		}},
	}
}

// typeFaults are those of the types in the catalog: Person has two versions, City
// and Ghost have ended, Ghost was purged.
func typeFaults() []fault {
	edit := func(name string, version int, change func(e *protocol.SchemaEntry)) func(s *sample) string {
		return func(s *sample) string {
			return s.editCatalog(func(c *protocol.Catalog) {
				i := slices.IndexFunc(c.Types, func(e protocol.SchemaEntry) bool { return e.Name == name && e.Version == version })
				change(&c.Types[i])
			})
		}
	}
	return []fault{
		{"types out of order", "schema_order", func(s *sample) string {
			return s.editCatalog(func(c *protocol.Catalog) {
				c.Types = append(c.Types, c.Types[0])
			})
		}},
		{"a schema with another hash", "schema_hash", edit("Person", 1, func(e *protocol.SchemaEntry) { e.Hash = "x" })},
		{"a schema that was edited", "schema_hash", edit("Person", 1, func(e *protocol.SchemaEntry) { e.Schema = bytes.Replace(e.Schema, []byte(`"n"`), []byte(`"m"`), 1) })},
		{"flags that change more than flags", "schema_hash", edit("Person", 1, func(e *protocol.SchemaEntry) { e.Flags = bytes.Replace(e.Schema, []byte(`"n"`), []byte(`"m"`), 1) })},
		{"a schema from the future", "schema_since", edit("Ghost", 1, func(e *protocol.SchemaEntry) { e.Since = 1000 })},
		{"a version that is missing", "schema_gap", edit("Ghost", 1, func(e *protocol.SchemaEntry) { e.Version = 2 })},
		{"rows after the end", "schema_ended schema_ended schema_ended", func(s *sample) string {
			edit("City", 1, func(e *protocol.SchemaEntry) { e.End.Commit-- })(s)
			return s.tip().Catalog.Tables[0].Files[0].Path
		}},
		{"an end before the beginning", "schema_end", edit("Ghost", 1, func(e *protocol.SchemaEntry) { e.End.Commit = 0 })},
		{"versions that were not purged", "schema_end", edit("City", 1, func(e *protocol.SchemaEntry) { e.End.Versions = 3 })},
		{"an upgrader of two kinds", "upgrader_form", edit("Person", 2, func(e *protocol.SchemaEntry) { e.Upgrader = &onto.StoredUpgrader{Func: true, Program: "."} })},
		{"an upgrader from nowhere", "upgrader_unknown", edit("Person", 2, func(e *protocol.SchemaEntry) {
			e.Upgrader = &onto.StoredUpgrader{RenamedFrom: "Nobody", FromVersion: 1}
		})},
	}
}
