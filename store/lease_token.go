package store

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/lease"
)

// leaseToken is what another process needs to hold a lease.
type leaseToken struct {
	Name  string        `json:"n"`
	Owner string        `json:"o"`
	Epoch int64         `json:"e"`
	Store string        `json:"s,omitempty"` // see Store.origin
	TTL   time.Duration `json:"t"`
	Note  string        `json:"c,omitempty"`
}

// sumBytes is how much of a checksum is before the JSON of a token.
const sumBytes = 6

// Token returns the lease as a text with which another process can hold it, too; see
// [Store.ResumeLease]. It is short, unless the note is long, stays the same while the note does,
// and is good for as long as the lease is held.
func (l *Lease) Token() string {
	current := l.Current()
	text, err := json.Marshal(leaseToken{current.Name, current.Owner, current.Epoch, l.store, l.held.TTL(), current.Note})
	if err != nil {
		panic("store: a token is not JSON: " + err.Error()) // it holds texts and numbers only
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(append(sum[:sumBytes], text...))
}

// ResumeLease goes on holding a lease by its token, which [Lease.Token] has given in this process
// or another. It renews the lease, with the note of the token. A lease that was released, broken
// or taken over, or that is of another store, is LeaseExpired; a damaged token is Invalid. While
// several processes hold a lease by its token, it is held until one of them releases it.
func (s *Store) ResumeLease(ctx context.Context, token string) (*Lease, error) {
	leaser, err := leaserOf(s.b)
	if err != nil {
		return nil, err
	}
	t, ok := parseLeaseToken(token)
	if !ok {
		return nil, onto.Errorf(onto.Invalid, "the token of the lease is damaged").WithHint("take it unchanged from the lease")
	}
	l := onto.Lease{Name: t.Name, Owner: t.Owner, Epoch: t.Epoch, Note: t.Note, Store: t.Store}
	if err := s.checkLease(ctx, &l); err != nil {
		return nil, err
	}
	held := lease.Resume(leaser, l, t.TTL)
	if err := held.Renew(ctx); err != nil {
		return nil, err
	}
	return &Lease{held, t.Store}, nil
}

// parseLeaseToken reads a token, which may be any text.
func parseLeaseToken(token string) (*leaseToken, bool) {
	body, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(body) <= sumBytes {
		return nil, false
	}
	sum := sha256.Sum256(body[sumBytes:])
	t := new(leaseToken)
	if string(sum[:sumBytes]) != string(body[:sumBytes]) || json.Unmarshal(body[sumBytes:], t) != nil {
		return nil, false
	}
	return t, onto.CheckLeaseName(t.Name) == nil && checkNote(t.Name, t.Note) == nil && t.Epoch > 0 && t.TTL > 0 && t.TTL <= maxLeaseTTL
}
