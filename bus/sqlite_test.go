package bus_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/internal/effort"
)

// stories are the tests that run on memory by themselves, and on SQLite by [TestOnSQLite].
func stories() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"TestAChainThatGoesRound":        TestAChainThatGoesRound,
		"TestAClaimFailsHalfway":         TestAClaimFailsHalfway,
		"TestAClaimIsLostWhileItWaits":   TestAClaimIsLostWhileItWaits,
		"TestAClosedStoreEndsRun":        TestAClosedStoreEndsRun,
		"TestACommitIsRefused":           TestACommitIsRefused,
		"TestACommitPanics":              TestACommitPanics,
		"TestADeadLetter":                TestADeadLetter,
		"TestADelay":                     TestADelay,
		"TestAFailureIsRepeated":         TestAFailureIsRepeated,
		"TestALateReturnIsAFailure":      TestALateReturnIsAFailure,
		"TestALeaseOfTheHandler":         TestALeaseOfTheHandler,
		"TestALostClaim":                 TestALostClaim,
		"TestALostClaimEndsTheContext":   TestALostClaimEndsTheContext,
		"TestALostEventIsStartedAlone":   TestALostEventIsStartedAlone,
		"TestAReplayFails":               TestAReplayFails,
		"TestASleepDuringATick":          TestASleepDuringATick,
		"TestASuspectWaits":              TestASuspectWaits,
		"TestATickPanics":                TestATickPanics,
		"TestATickWithoutEvent":          TestATickWithoutEvent,
		"TestATimeoutIsIgnored":          TestATimeoutIsIgnored,
		"TestAYearOfTicks":               TestAYearOfTicks,
		"TestAClockThatIsBehind":         TestAClockThatIsBehind,
		"TestAcksRideWithClaims":         TestAcksRideWithClaims,
		"TestAnEventThatKillsItsProcess": TestAnEventThatKillsItsProcess,
		"TestAnOrderIsPaid":              TestAnOrderIsPaid,
		"TestBuriedAtOnce":               TestBuriedAtOnce,
		"TestConcurrency":                TestConcurrency,
		"TestDamageEndsRun":              TestDamageEndsRun,
		"TestDeadSessions":               TestDeadSessions,
		"TestCheckType":                  TestCheckType,
		"TestDrain":                      TestDrain,
		"TestEvery":                      TestEvery,
		"TestFurtherAcks":                TestFurtherAcks,
		"TestHandlersAreIndependent":     TestHandlersAreIndependent,
		"TestMissedTicks":                TestMissedTicks,
		"TestNamespaces":                 TestNamespaces,
		"TestNothingIsRemoved":           TestNothingIsRemoved,
		"TestNothingChanges":             TestNothingChanges,
		"TestOnTypes":                    TestOnTypes,
		"TestOrderPerKey":                TestOrderPerKey,
		"TestOutdatedTypesEndRun":        TestOutdatedTypesEndRun,
		"TestPanics":                     TestPanics,
		"TestPoll":                       TestPoll,
		"TestPriorityOfHandlers":         TestPriorityOfHandlers,
		"TestRenewal":                    TestRenewal,
		"TestReplay":                     TestReplay,
		"TestRetention":                  TestRetention,
		"TestRunUntilIdleDoesNotWait":    TestRunUntilIdleDoesNotWait,
		"TestRunUntilIdleHandlesWhatHandlersEmitThemselves": TestRunUntilIdleHandlesWhatHandlersEmitThemselves,
		"TestRunUntilIdleIsCutShort":                        TestRunUntilIdleIsCutShort,
		"TestRunUntilIdleLooksAgain":                        TestRunUntilIdleLooksAgain,
		"TestSelections":                                    TestSelections,
		"TestSession":                                       TestSession,
		"TestSnooze":                                        TestSnooze,
		"TestSnoozeForNoTime":                               TestSnoozeForNoTime,
		"TestSuspectsExcludeEachOther":                      TestSuspectsExcludeEachOther,
		"TestSuspectsOfOneHandlerDoNotHoldUpAnother":        TestSuspectsOfOneHandlerDoNotHoldUpAnother,
		"TestStaleHandlers":                                 TestStaleHandlers,
		"TestStaleWithoutWrites":                            TestStaleWithoutWrites,
		"TestTheBusFailsForAWhile":                          TestTheBusFailsForAWhile,
		"TestTheDrainEnds":                                  TestTheDrainEnds,
		"TestTheMachineSleeps":                              TestTheMachineSleeps,
		"TestTheStoreFails":                                 TestTheStoreFails,
		"TestTicksDuringASleep":                             TestTicksDuringASleep,
		"TestTicksOutlastATrouble":                          TestTicksOutlastATrouble,
		"TestTimeouts":                                      TestTimeouts,
		"TestTwoOperators":                                  TestTwoOperators,
		"TestUnknownMembers":                                TestUnknownMembers,
	}
}

// The loops of the bus do the same on SQLite as on memory: both keep the contract of
// backends, and a story that differs says that the contract lacks something. One of them is
// tried at every level, and the longest one not in a plain run.
func TestOnSQLite(t *testing.T) {
	t.Parallel()
	const always, longest = "TestAnOrderIsPaid", "TestAYearOfTicks"
	for i, name := range slices.Sorted(maps.Keys(stories())) {
		if name == always || effort.Includes(t, i) && (name != longest || effort.Thorough(t)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // each waits for the disk
				stories()[name](t)
			})
		}
	}
}

// An event wakes a handler of another handle on the same file, long before the poll.
func TestWakeUpOnSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	open := func() full {
		b, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o := &bus.Options{Poll: time.Hour, Heartbeat: time.Hour, ClaimLease: time.Hour}
	w := openWorld(t, open, o)
	other := w.again(o)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	handled, done := make(chan int), make(chan error)
	go func() {
		done <- w.b.Run(ctx, bus.On("h", func(ctx context.Context, c *bus.Claim[Ping]) error {
			select {
			case handled <- c.Payload.N:
			case <-ctx.Done():
			}
			return ctx.Err()
		}))
	}()
	for i := range 3 {
		other.emit(Ping{i})
		select {
		case n := <-handled:
			if n != i {
				t.Errorf("got event %d, want %d", n, i)
			}
		case <-ctx.Done():
			t.Fatalf("event %d was not handled within a minute", i)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
