package protocol

// mistake is a way to get the protocol wrong. It is made by changes of the source, in
// which PLANTED stands for whether it is to be made.
type mistake struct {
	what    string
	changes []change
	seed    uint64 // from which on the seeds are tried: one that is known to catch it; any change of the order of requests may call for another
}

// change replaces a snippet that a source file has exactly once.
type change struct{ file, old, new string }

// believing is a change that takes the answer to a swap of the head for its outcome.
func believing(answer, outcome string) change {
	look := "\t\tv, tag := l.lookFor(ctx, t, p)\n"
	return change{"publish.go", look, "\t\tif PLANTED && (" + answer + ") {\n\t\t\treturn " + outcome + "\n\t\t}\n" + look}
}

// mistakes lists them all.
func mistakes() []mistake {
	return []mistake{
		{"a swap that was sent twice is lost when the second finds the head changed", []change{believing("errors.Is(err, bucket.ErrChanged)", "lost")}, 0},
		{"a swap without an answer is lost", []change{believing("errors.Is(err, bucket.ErrUnknown)", "lost")}, 0},
		{"a swap without an answer is published", []change{believing("errors.Is(err, bucket.ErrUnknown)", `l.won(p, "")`)}, 0},
		{"a swap that is answered with a conflict or a throttle is lost", []change{believing("errors.Is(err, bucket.ErrConflict) || errors.Is(err, bucket.ErrThrottled)", "lost")}, 0},
		{"a swap that is answered with not found means that there is no head", []change{believing("errors.Is(err, bucket.ErrNotFound)", "gone")}, 0},
		{"the objects of an attempt are removed although it may be published", []change{{"publish.go", `
	case v == unknown || v == overrun && p.Once:
`, `
	case v == unknown || v == overrun && p.Once:
		for n := 0; n < 50 && PLANTED; n++ {
			l.Discard(ctx, p.objects)
			time.Sleep(300 * time.Millisecond)
		}
`}}, 6},
		{"a writer that finds a later head that it is part of goes on from its tag", []change{{"publish.go", `
	case made:
		return l.won(p, ""), ""
`, `
	case made && PLANTED:
		return l.won(p, tag), ""
	case made:
		return l.won(p, ""), ""
`}}, 7},
		{"a swap that no head remembers any more stays unknown", []change{{"publish.go", `
	case sure:
		return lost, ""
`, `
	case sure:
		return lost, ""
	case PLANTED:
		return unknown, ""
`}}, 0},
		{"a tag that the storage gave is not doubted", []change{{"publish.go", "tag != old && !corrected:", "tag != old && !corrected && !PLANTED:"}}, 0},
		{"an attempt that lost is published again as it was decided", []change{{"simulation_test.go", `
		r, err := decide(t)
`, `
		var err error
		if decided == nil || !PLANTED {
			decided, err = decide(t)
		}
		r := decided
`}, {"simulation_test.go", `
	var made *Manifest
`, `
	var made *Manifest
	var decided *Round
`}}, 0},
		{"a lease is not looked at again after a lost swap", []change{{"simulation_test.go", `
		if err := l.MayWrite(ctx, t, carried); err != nil {
`, `
		looked++
		if looked > 1 && PLANTED {
			// it was looked at before
		} else if err := l.MayWrite(ctx, t, carried); err != nil {
`}, {"simulation_test.go", `
	_, err := l.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
`, `
	looked := 0
	_, err := l.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
`}}, 0},
		{"a catalog that lost is published again as it was edited", []change{{"round.go", `
	t, err := l.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		c := *t.Catalog
`, `
	var first *Catalog
	t, err := l.Publish(ctx, func(t *Tip, attempt string) (*Proposal, error) {
		if first == nil || !PLANTED {
			first = t.Catalog
		}
		c := *first
`}}, 0},
		{"commits take the time of a clock that is behind", []change{{"round.go", ".Time; last > now {", ".Time; last > now && !PLANTED {"}}, 0},
		{"who makes a lake overwrites the head that somebody else has made", []change{{"round.go", `
		_, err := l.b.Create(ctx, HeadKey, encodeSealed(h))
`, `
		_, err := l.b.Create(ctx, HeadKey, encodeSealed(h))
		if PLANTED && errors.Is(err, bucket.ErrExists) {
			_ = l.b.Delete(ctx, HeadKey)
			continue
		}
`}}, 0},
		{"an older head is believed", []change{
			{"log.go", "t.Head.Sequence >= l.tip.Head.Sequence {", "t.Head.Sequence >= l.tip.Head.Sequence || PLANTED {"},
			{"log.go", "\tif known == nil {\n", "\tif known == nil || PLANTED {\n"},
		}, 8},
		{"files are not compared with their hashes", []change{{"fetch.go", "sum == f.SHA256:", "sum == f.SHA256 || PLANTED:"}}, 0},
		{"a compaction that lost publishes the files as it knew them", []change{{"replace.go", "\t\tif s, err = l.Shelve(ctx, now, s); err != nil {\n", "\t\tif PLANTED {\n\t\t\t// as it knew them\n\t\t} else if s, err = l.Shelve(ctx, now, s); err != nil {\n"}}, 0},
		{"a compaction does not see that another has replaced its files", []change{{"replace.go", `
	i := slices.IndexFunc(files, func(f FileEntry) bool { return f.Path == old[0].Path })
`, `
	if PLANTED {
		i, _ := slices.BinarySearchFunc(files, old[0].First, func(f FileEntry, first int64) int { return int(f.First - first) })
		return i, true
	}
	i := slices.IndexFunc(files, func(f FileEntry) bool { return f.Path == old[0].Path })
`}}, 275},
		{"a compaction that no head remembers any more does not know its own files", []change{
			{"replace.go", "f.Path == entries[0].Path })\n", "f.Path == entries[0].Path }) && !PLANTED\n"},
			{"replace.go", "!replaced && !proposed {", "!replaced && (!proposed || PLANTED) {"},
		}, 42},
		{"the janitor does not wait", []change{{"janitor.go", `
	plan := needed.orphans(entries, grace)
`, `
	if PLANTED {
		grace = -1
	}
	plan := needed.orphans(entries, grace)
`}}, 809},
		{"the janitor reads the head before it lists, and not again", []change{{"janitor.go", `
	entries, err := j.removable(ctx)
`, `
	var before *Tip
	if PLANTED {
		var failed error
		if before, failed = j.log.Load(ctx); failed != nil {
			return nil, failed
		}
	}
	entries, err := j.removable(ctx)
`}, {"janitor.go", `
	needed, err := j.needed(ctx, t)
	if err != nil {
		return nil, err
`, `
	if PLANTED {
		t, grace = before, -1
	}
	needed, err := j.needed(ctx, t)
	if err != nil {
		return nil, err
`}, {"janitor.go", `
	needed, err := j.needed(ctx, t)
	if err != nil {
		return 0, err
`, `
	if PLANTED {
		t = &Tip{Head: t.Head, Catalog: t.Catalog}
	}
	needed, err := j.needed(ctx, t)
	if err != nil {
		return 0, err
`}}, 176},
		{"the janitor forgets the catalog", []change{{"janitor.go", `
	if t.Manifest == nil {
		return n, nil
	}
`, `
	if PLANTED {
		delete(n.attempts, t.Catalog.Attempt)
	}
	if t.Manifest == nil {
		return n, nil
	}
`}}, 81},
		{"the janitor knows the newest round only", []change{{"janitor.go", `
	n.attempts[t.Manifest.Attempt] = true
`, `
	n.attempts[t.Manifest.Attempt] = true
	if PLANTED {
		return n, nil
	}
`}}, 0},
		{"who takes a lease publishes no head", []change{{"lease.go", `
func (l *Leases) announce(ctx context.Context, name string, epoch int64) error {
`, `
func (l *Leases) announce(ctx context.Context, name string, epoch int64) error {
	if PLANTED {
		return nil
	}
`}}, 0},
		{"a lease that is taken over keeps its epoch", []change{{"lease.go", `
	return epochAfter(h.key, epoch)
`, `
	if h.epoch > 0 && PLANTED {
		return h.epoch, nil
	}
	return epochAfter(h.key, epoch)
`}}, 0},
		{"a lease that is renewed late is not published", []change{{"lease.go", "!l.log.stamp().Before(late) {", "!l.log.stamp().Before(late) && !PLANTED {"}}, 2903},
		{"writers do not look whether somebody holds the write lease", []change{{"lease_check.go", "\tif !taken {\n", "\tif !taken || PLANTED {\n"}}, 0},
		{"whether a lease has run out is judged by its holder's clock alone", []change{{"lease_check.go", "\tif carried == nil {\n", "\tif carried == nil || PLANTED && !carried.Expired(l.log.set.Now()) {\n"}}, 0},
		{"a lease counts although the head does not name it any more", []change{{"lease_check.go", "!= carried.Epoch && h.lease", "!= carried.Epoch && !PLANTED && h.lease"}}, 0},
		{"a lease that was free once is dropped from later heads", []change{{"lease_free.go", "ok && sequence == t.Head.Sequence &&", "ok && (sequence == t.Head.Sequence || PLANTED) &&"}}, 20011},
		{"an old copy of a lock is believed", []change{{"lease_lock.go", "h.epoch, least) {", "h.epoch, least) && !PLANTED {"}}, 937},
		{"a lock that was written without an answer is taken for one's own", []change{{"lease_lock.go", `
		now, failed := l.readLockOnce(ctx, old.key, "")
`, `
		if PLANTED && errors.Is(err, bucket.ErrUnknown) {
			return true, nil
		}
		now, failed := l.readLockOnce(ctx, old.key, "")
`}}, 21},
	}
}
