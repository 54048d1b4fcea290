package lake

import (
	"errors"

	"github.com/ontologia/onto/backend/lake/bucket"
)

// mistake is a way to get the protocol wrong. Tests plant each of them to see
// that the simulation catches it.
type mistake string

const (
	noMistake          mistake = ""
	changedIsLost      mistake = "a swap that was sent twice is lost when the second finds the head changed"
	unknownIsLost      mistake = "a swap without an answer is lost"
	unknownIsWon       mistake = "a swap without an answer is published"
	discardUnknown     mistake = "the objects of an attempt are removed although it may be published"
	samePlan           mistake = "an attempt that lost is published again as it was decided"
	sameCatalog        mistake = "a catalog that lost is published again as it was edited"
	newerTag           mistake = "who finds a later head that he is part of goes on from its tag"
	headGoesBack       mistake = "an older head is believed"
	noGrace            mistake = "the janitor does not wait"
	headBeforeList     mistake = "the janitor reads the head before it lists, and not again"
	forgetCatalog      mistake = "the janitor forgets the catalog"
	forgetAncestors    mistake = "the janitor knows the newest round only"
	unverifiedFiles    mistake = "files are not compared with their hashes"
	timesGoBack        mistake = "commits take the time of a clock that is behind"
	ownExistingHead    mistake = "who makes a lake overwrites the head that somebody else has made"
	staleHolder        mistake = "a lease is not looked at again after a lost swap"
	silentLease        mistake = "who takes a lease publishes no head"
	ownClock           mistake = "whether a lease has run out is judged by its holder's clock alone"
	ignoreLease        mistake = "writers do not look whether somebody holds the write lease"
	sameEpoch          mistake = "a lease that is taken over keeps its epoch"
	silentRenewal      mistake = "a lease that is renewed late is not published"
	oldLock            mistake = "an old copy of a lock is believed"
	freeForever        mistake = "a lease that was free once is dropped from later heads"
	unnamedLease       mistake = "a lease counts although the head does not name it any more"
	lockIsMine         mistake = "a lock that was written without an answer is taken for one's own"
	staleTables        mistake = "a compaction that lost publishes the files as it knew them"
	blindCompaction    mistake = "a compaction does not see that another has replaced its files"
	conflictIsLost     mistake = "a swap that is answered with a conflict or a throttle is lost"
	missingIsGone      mistake = "a swap that is answered with not found means that there is no head"
	forgottenIsUnknown mistake = "a swap that no head remembers any more stays unknown"
	forgottenMerge     mistake = "a compaction that no head remembers any more does not know its own files"
	tagForever         mistake = "a tag that the storage gave is not doubted"
)

// mistakes lists them all.
func mistakes() []mistake {
	return []mistake{
		changedIsLost, unknownIsLost, unknownIsWon, discardUnknown, samePlan, sameCatalog, newerTag, headGoesBack,
		noGrace, headBeforeList, forgetCatalog, forgetAncestors, unverifiedFiles, timesGoBack, ownExistingHead,
		staleHolder, silentLease, ownClock, ignoreLease, sameEpoch, silentRenewal, oldLock, freeForever, unnamedLease, lockIsMine,
		staleTables, blindCompaction, conflictIsLost, missingIsGone, forgottenIsUnknown, forgottenMerge, tagForever,
	}
}

// misjudge is what a planted mistake makes of the answer to a swap; unknown, if
// there is none.
func (l *log) misjudge(err error, p *proposal) verdict {
	is := func(m mistake, answers ...error) bool {
		for _, a := range answers {
			if l.planted(m) && errors.Is(err, a) {
				return true
			}
		}
		return false
	}
	switch {
	case is(changedIsLost, bucket.ErrChanged), is(unknownIsLost, bucket.ErrUnknown), is(conflictIsLost, bucket.ErrConflict, bucket.ErrThrottled):
		return lost
	case is(unknownIsWon, bucket.ErrUnknown):
		return l.won(p, "")
	case is(missingIsGone, bucket.ErrNotFound):
		return gone
	}
	return unknown
}

// plantedTimes is how often a planted mistake is made; never, if it is not.
func (l *log) plantedTimes(m mistake) int {
	if l.planted(m) {
		return 50
	}
	return 0
}

// planted reports whether a test has planted the mistake.
func (l *log) planted(m mistake) bool { return l.set.mistake == m }
