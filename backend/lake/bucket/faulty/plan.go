package faulty

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is a way in which a call goes wrong.
type Fault string

// The faults. Those of reads return wrong data; those of writes hide what happened. The
// number of a rule (+N) has a meaning with some of them.
const (
	Fail      Fault = "fail"      // fails before anything is applied
	Throttled Fault = "throttled" // is not applied: bucket.ErrThrottled
	Cut       Fault = "cut"       // this call and the next N-1 do not arrive; without N, until Heal
	Delay     Fault = "delay"     // is applied after N milliseconds (1) of Plan.Sleep
	Conflict  Fault = "conflict"  // a write is not applied: bucket.ErrConflict
	Lost      Fault = "lost"      // a write is applied, the response is lost: bucket.ErrUnknown
	Unsynced  Fault = "unsynced"  // a write is applied, but not durable: bucket.ErrUnsynced; so is a sync
	Late      Fault = "late"      // a write is applied when N further calls (3) have come; bucket.ErrUnknown at once
	Twice     Fault = "twice"     // a write is applied twice; the first answer is returned
	Again     Fault = "again"     // a write is applied twice; the second answer is returned, as by a client that repeats by itself
	Short     Fault = "short"     // a read ends too early
	Flip      Fault = "flip"      // a read has one bit flipped
	Slow      Fault = "slow"      // is applied at once and answered after N milliseconds (1) of Plan.Sleep
	Changed   Fault = "changed"   // a create or swap is not applied: bucket.ErrExists or bucket.ErrChanged
	Missing   Fault = "missing"   // a swap is not applied: bucket.ErrNotFound
	Mistag    Fault = "mistag"    // the answer to a create, swap or read has a tag that no object has
	Stale     Fault = "stale"     // a read returns what was replaced at most N calls (16) ago
	Old       Fault = "old"       // a listing lacks what happened in the last N calls (16)
)

// Refusals of writes that were applied.
const (
	DoneConflict  Fault = "doneconflict"  // a write: bucket.ErrConflict
	DoneThrottled Fault = "donethrottled" // a write: bucket.ErrThrottled
	DoneChanged   Fault = "donechanged"   // a create or swap: bucket.ErrExists or bucket.ErrChanged
	DoneMissing   Fault = "donemissing"   // a swap: bucket.ErrNotFound
)

// Calls by their names in a plan.
const (
	callGet    = "get"
	callCreate = "create"
	callSwap   = "swap"
	callDelete = "delete"
	callList   = "list"
	callSync   = "sync"
	callWrite  = "write" // create, swap and delete
	callAny    = "any"
)

// Faults lists every fault.
func Faults() []Fault {
	return []Fault{
		Fail, Throttled, Cut, Delay, Slow, Conflict, Changed, Missing, DoneConflict, DoneThrottled, DoneChanged, DoneMissing,
		Lost, Unsynced, Late, Twice, Again, Mistag, Short, Flip, Stale, Old,
	}
}

// fits reports whether a call can go wrong in this way.
func (f Fault) fits(call string) bool {
	switch f {
	case Conflict, Lost, Late, Twice, Again, DoneConflict, DoneThrottled:
		return isWrite(call)
	case Changed, DoneChanged:
		return call == callCreate || call == callSwap
	case Missing, DoneMissing:
		return call == callSwap
	case Mistag:
		return call == callCreate || call == callSwap || call == callGet
	case Unsynced:
		return isWrite(call) || call == callSync
	case Short, Flip, Stale:
		return call == callGet
	case Old:
		return call == callList
	}
	return true
}

func isWrite(call string) bool {
	return call == callCreate || call == callSwap || call == callDelete
}

// Rule says which calls go wrong, and how.
type Rule struct {
	Call    string  // get, create, swap, delete, list, sync, write or any
	Key     string  // only calls whose key (the prefix of a list) contains it
	Fault   Fault   // how
	At      int     // only the call of this number, from 1, of those that the rule covers
	Percent float64 // only so many of a hundred; 0 for all
	N       int     // see the fault; 0 for its default
}

// covers reports whether the rule covers a call.
func (r Rule) covers(call, key string) bool {
	named := r.Call == call || r.Call == callAny || r.Call == callWrite && isWrite(call)
	return named && r.Fault.fits(call) && strings.Contains(key, r.Key)
}

// number is N or the default.
func (r Rule) number() int {
	if r.N > 0 {
		return r.N
	}
	switch r.Fault {
	case Delay, Slow:
		return 1
	case Late:
		return 3
	case Stale, Old:
		return 16
	}
	return 0
}

// Plan says what goes wrong. The zero Plan breaks nothing.
type Plan struct {
	Rules []Rule // the first that applies to a call decides
	Seed  uint64 // of all random choices

	// Sleep waits, for calls that are delayed. If it is nil, they do not wait.
	Sleep func(context.Context, time.Duration) error
}

func itemPattern() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z]+)(?:\[([A-Za-z0-9._%/-]+)\])?:([a-z]+)(?:@([0-9]+)|%([0-9]+(?:\.[0-9]+)?))?(?:\+([0-9]+))?$`)
}

// ParsePlan reads a plan from one line: items with commas between them, each
//
//	call[key]:fault@number%percent+N
//
// of which only call and fault are needed, and either @ or % is given, or
// seed=number. For example, the third swap's response is lost, every tenth read
// is stale, listings are old, and the fifth write to the head comes late:
//
//	seed=7,swap:lost@3,get:stale%10,list:old,write[head]:late@5+8
func ParsePlan(text string) (Plan, error) {
	var p Plan
	pattern := itemPattern()
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" && strings.TrimSpace(text) == "" {
			continue
		}
		if seed, is := strings.CutPrefix(item, "seed="); is {
			n, err := strconv.ParseUint(seed, 10, 64)
			if err != nil {
				return Plan{}, fmt.Errorf("the plan's seed %q is not a number", seed)
			}
			p.Seed = n
			continue
		}
		rule, err := parseRule(pattern, item)
		if err != nil {
			return Plan{}, err
		}
		p.Rules = append(p.Rules, rule)
	}
	return p, nil
}

func parseRule(pattern *regexp.Regexp, item string) (Rule, error) {
	m := pattern.FindStringSubmatch(item)
	if m == nil {
		return Rule{}, fmt.Errorf("the plan's item %q is not call[key]:fault@number%%percent+N", item)
	}
	r := Rule{Call: m[1], Key: m[2], Fault: Fault(m[3])}
	calls := []string{callGet, callCreate, callSwap, callDelete, callList, callSync}
	if !slices.Contains(append(calls, callWrite, callAny), r.Call) {
		return Rule{}, fmt.Errorf("the plan's item %q: there is no call %s", item, r.Call)
	}
	if !slices.Contains(Faults(), r.Fault) {
		return Rule{}, fmt.Errorf("the plan's item %q: there is no fault %s", item, r.Fault)
	}
	if !slices.ContainsFunc(calls, func(call string) bool { return r.covers(call, r.Key) }) {
		return Rule{}, fmt.Errorf("the plan's item %q: %s cannot be %s", item, r.Call, r.Fault)
	}
	var err error
	if r.At, err = positive(item, m[4]); err != nil {
		return Rule{}, err
	}
	if r.N, err = positive(item, m[6]); err != nil {
		return Rule{}, err
	}
	if m[5] != "" {
		if r.Percent, err = strconv.ParseFloat(m[5], 64); err != nil || r.Percent <= 0 || r.Percent > 100 {
			return Rule{}, fmt.Errorf("the plan's item %q: %s%% is not more than 0 and at most 100", item, m[5])
		}
	}
	return r, nil
}

// positive is 0 for no text, and otherwise a number from 1.
func positive(item, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("the plan's item %q: %s is not a number from 1", item, text)
	}
	return int(n), nil
}

// String is the plan as ParsePlan reads it.
func (p Plan) String() string {
	var items []string
	if p.Seed != 0 {
		items = append(items, fmt.Sprintf("seed=%d", p.Seed))
	}
	for _, r := range p.Rules {
		items = append(items, r.String())
	}
	return strings.Join(items, ",")
}

// String is the rule as an item of a plan.
func (r Rule) String() string {
	text := r.Call
	if r.Key != "" {
		text += "[" + r.Key + "]"
	}
	text += ":" + string(r.Fault)
	switch {
	case r.At > 0:
		text += "@" + strconv.Itoa(r.At)
	case r.Percent > 0:
		text += "%" + strconv.FormatFloat(r.Percent, 'f', -1, 64)
	}
	if r.N > 0 {
		text += "+" + strconv.Itoa(r.N)
	}
	return text
}
