package lake_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/file"
	"github.com/ontologia/onto/store"
)

type Reading struct {
	ID      string  `json:"id" onto:"key"`
	Station string  `json:"station" onto:"index"`
	Celsius float64 `json:"celsius"`
}

// openLake opens the lake in a directory, and makes both if they are missing. With a
// bucket of package bucket/s3 it is one that many machines share.
func openLake(ctx context.Context, dir string) (*store.Store, error) {
	b, err := file.Open(dir, &file.Options{Create: true})
	if err != nil {
		return nil, err
	}
	l, err := lake.Open(ctx, b, nil)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, l, onto.TypeOf[Reading]())
}

// A store on object storage is used as any other.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lake")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := openLake(ctx, filepath.Join(dir, "readings"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	readings := func(yield func(any, error) bool) {
		for i := range 1000 {
			r := Reading{ID: fmt.Sprintf("r%04d", i), Station: fmt.Sprint("s", i%4), Celsius: float64(i%40) / 2}
			if !yield(r, nil) {
				return
			}
		}
	}
	res, err := s.CommitStream(ctx, onto.Draft{Actor: onto.Daemon("ingest")}, readings)
	if err != nil {
		log.Fatal(err)
	}
	type perStation struct {
		Station string
		N       int
		Warmest float64
	}
	groups := store.Find[Reading](s.At(res.At)).GroupBy(onto.Path("station")).Compute(onto.Count(), onto.Path("celsius").Max())
	for g, err := range store.GroupsAs[perStation](ctx, groups.Limit(2)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d readings, at most %.1f °C\n", g.Station, g.N, g.Warmest)
	}
	// Output:
	// s0: 250 readings, at most 18.0 °C
	// s1: 250 readings, at most 18.5 °C
}
