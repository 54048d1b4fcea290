package parquet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake/parquet"
)

// benchRows are 100,000 sorted entities of about 200 bytes.
func benchRows() []onto.Version {
	var list []onto.Version
	for i := range 100_000 {
		list = append(list, entity(fmt.Sprintf("person-%08d", i*7), int64(i*31%5000+1), fmt.Sprintf(
			`{"age":%d,"alive":%t,"born":"19%02d-03-0%dT00:00:00.000000Z","more":{"city":"City %d","street":"Street of the %d"},"name":"Name Number %d","score":%d.25,"tags":["a%d","b%d"]}`,
			i%90, i%3 == 0, i%100, i%9+1, i%500, i*13, i, i%1000, i%7, i%11)))
	}
	return list
}

func benchFile(b *testing.B) (*parquet.File, []onto.Version) {
	versions := benchRows()
	l := people(onto.KindEntity)
	data, _ := encode(b, l, versions)
	return open(b, l, data), versions
}

func BenchmarkWrite(b *testing.B) {
	versions := benchRows()
	l := people(onto.KindEntity)
	b.ReportAllocs()
	for b.Loop() {
		data, _ := encode(b, l, versions)
		b.ReportMetric(float64(len(data))/float64(len(versions)), "file-B/row")
	}
}

func BenchmarkAll(b *testing.B) {
	f, _ := benchFile(b)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range f.All(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
}

func BenchmarkOpenAndFindOne(b *testing.B) {
	versions := benchRows()
	l := people(onto.KindEntity)
	data, _ := encode(b, l, versions)
	ids := []onto.Identity{versions[50_000].Identity}
	b.ReportAllocs()
	for b.Loop() {
		if len(find(b, open(b, l, data), ids, 1<<40)) != 1 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkFindOne(b *testing.B) {
	f, versions := benchFile(b)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % len(versions)
		if len(find(b, f, []onto.Identity{versions[i].Identity}, 1<<40)) != 1 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkFind1000Of100000(b *testing.B) {
	f, versions := benchFile(b)
	var ids []onto.Identity
	for i := 0; i < len(versions); i += 100 {
		ids = append(ids, versions[i].Identity)
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(find(b, f, ids, 1<<40)) != len(ids) {
			b.Fatal("not found")
		}
	}
}

func BenchmarkFind10000Absent(b *testing.B) {
	f, _ := benchFile(b)
	var ids []onto.Identity
	for i := range 10_000 {
		ids = append(ids, onto.EntityID("Person", fmt.Sprintf("person-%08d", i*70+3)))
	}
	ids = sortedIDs(ids)
	b.ReportAllocs()
	for b.Loop() {
		if len(find(b, f, ids, 1<<40)) != 0 {
			b.Fatal("found")
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	versions := benchRows()
	l := people(onto.KindEntity)
	data, _ := encode(b, l, versions)
	var ids []onto.Identity
	for i := range 1000 {
		ids = append(ids, onto.EntityID("Person", fmt.Sprintf("person-%08d", i*700+3)))
	}
	b.ReportAllocs()
	for b.Loop() {
		find(b, open(b, l, data), ids, 1<<40)
	}
}
