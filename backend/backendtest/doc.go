// Package backendtest is the contract of package backend as tests. Every
// backend joins by handing a [Target] to [Run]:
//
//	func TestContract(t *testing.T) {
//		backendtest.Run(t, backendtest.Target{
//			Open: func(t testing.TB, p *backendtest.Place) backend.Backend {
//				b, err := sqlite.Open(t.Context(), filepath.Join(p.Dir, "store.db"), &sqlite.Options{Now: p.Now, LockTimeout: p.LockTimeout, MigrationWait: p.MigrationWait})
//				if err != nil {
//					t.Fatal(err)
//				}
//				return b
//			},
//		})
//	}
//
// The parts are stories (one small test for each sentence of the contract),
// histories (random operations on the backend and on package memory, which
// must then answer every question alike, random filters, orders and groups
// among them, while types evolve, end and begin again), bus and traffic (stories
// and random operations, if the backend is a bus), work and workload (likewise, if
// it is a work queue), archive and copies (stories about copies of a store, and random
// histories that are copied, if the backend is an archive), handles (two on one store),
// cancel, concurrency, linearizable (concurrent calls, judged by porcupine),
// optional (leases, checks and other optional interfaces, if the backend has
// them) and faults. Every store a test made is opened once more and checked when
// the test ends, and no goroutine may be left.
//
// A failing history is made as short as possible, printed with the flag that
// repeats it, and kept under testdata/rapid, from where it is tried first the
// next time. A plain run does a tenth of what there is to do: see package effort.
//
// What filters and orders mean is not told here but in the corpus of package
// filtertest, which every backend runs as well.
package backendtest
