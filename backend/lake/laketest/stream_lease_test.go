package laketest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake"
	"github.com/ontologia/onto/backend/lake/bucket/memory"
)

// A long stream that takes longer than the lease that it carries lasts keeps the lease: a
// migration of much data is not overtaken by the commits that wait for it.
func TestStreamKeepsTheLeaseItCarries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := kept{memory.New(nil)}
		l := openPieces(t, b, &lake.Options{StreamBytes: 2_000})
		defer l.Close()
		other := openPieces(t, b, &lake.Options{LockTimeout: time.Second, MigrationWait: 10 * time.Second})
		defer other.Close()
		registerNotes(t, l)
		held, err := l.Acquire(t.Context(), &backend.LeaseRequest{
			Name: onto.WriteLease, Owner: "mover", TTL: 30 * time.Second, Purpose: onto.MigrationLease, Note: "writing 200",
		})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		d := streamDraft("key")
		d.Lease = &held
		d.Admit = func(*backend.Write, *onto.Version) (bool, error) {
			if asked++; asked%50 != 0 {
				return true, nil
			}
			time.Sleep(time.Minute)
			_, err := other.Append(t.Context(), streamDraft("other"))
			if onto.CodeOf(err) != onto.LockContention {
				t.Errorf("after %d writes: got %v, want LockContention", asked, err)
			}
			leases, err := other.Leases(t.Context())
			if err != nil || len(leases) != 1 || leases[0].Expired(time.Now()) || leases[0].Note != "writing 200" {
				t.Errorf("after %d writes: got the leases %+v, %v", asked, leases, err)
			}
			return true, nil
		}
		res, err := l.AppendStream(t.Context(), d, notes(0, 200, 100))
		if err != nil || res.ID != 1 || res.Operations != 200 || asked != 200 {
			t.Fatalf("%+v after %d, %v", res, asked, err)
		}
		if err := l.Release(t.Context(), held); err != nil {
			t.Error(err)
		}
		wantNotes(t, other, 200)
	})
}
