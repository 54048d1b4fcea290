package lake

import (
	"fmt"
	"testing"
	"time"

	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// BenchmarkCheck checks a lake of 100,000 versions of 50,000 entities in 400
// commits.
func BenchmarkCheck(b *testing.B) {
	s := openSample(b, memory.New(nil), 10*time.Second)
	_, err := s.lake.Register(b.Context(), &backend.Registration{Schemas: sampleSchemas()})
	s.must(err)
	for i := range 400 {
		var writes []backend.Write
		for j := range 250 {
			writes = append(writes, entityPut("Person", fmt.Sprintf("%06d", (i*250+j)%50000), 1, i))
		}
		s.commit("", writes...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if found := checked(b, s.lake); len(found) != 0 {
			b.Fatal(found)
		}
	}
}
