package onto_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

func TestActorRoundTrip(t *testing.T) {
	for _, c := range []struct {
		actor onto.Actor
		text  string
	}{
		{onto.Operator("ana"), "operator:ana"},
		{onto.Component("billing"), "component:billing"},
		{onto.Daemon("compactor"), "daemon:compactor"},
		{onto.Remote("10.0.0.7:8420"), "remote:10.0.0.7:8420"},
		{onto.Operator("é ☃"), "operator:é ☃"},
	} {
		if got := c.actor.String(); got != c.text {
			t.Errorf("String: got %q, want %q", got, c.text)
		}
		if got, err := onto.ParseActor(c.text); err != nil || got != c.actor {
			t.Errorf("ParseActor(%q): got %v, %v, want %v", c.text, got, err, c.actor)
		}
	}
}

func TestNobody(t *testing.T) {
	if got := (onto.Actor{}).String(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	if err := (onto.Actor{}).Check(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestParseActorRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		code onto.Code
		want string
	}{
		{"", onto.Invalid, `actor "" has no kind`},
		{"ana", onto.Invalid, `actor "ana" has no kind`},
		{":", onto.Invalid, `actor ":" has no kind`},
		{":ana", onto.Invalid, `actor ":ana" has no kind`},
		{"operator:", onto.Invalid, "actor id is empty"},
		{"Operator:ana", onto.Invalid, `actor kind "Operator" is unknown`},
		{"robot:ana", onto.Invalid, `actor kind "robot" is unknown`},
		{"operator:a\xff", onto.Invalid, "actor id is not valid UTF-8"},
		{"operator:a\x00", onto.Invalid, "actor id contains U+0000"},
		{"operator:" + strings.Repeat("a", onto.MaxKey+1), onto.TooLarge, "actor id is 1025 bytes long, the limit is 1024"},
	} {
		got, err := onto.ParseActor(c.text)
		if message(err) != c.want || onto.CodeOf(err) != c.code || got != (onto.Actor{}) {
			t.Errorf("%q: got %v, %v, want %s", c.text, got, err, c.want)
		}
	}
}

func TestPoint(t *testing.T) {
	at := time.Date(2026, 2, 10, 13, 34, 56, 789012345, time.FixedZone("", 3600))
	for _, c := range []struct {
		point    onto.Point
		text     string
		head     bool
		isCommit bool
		isTime   bool
	}{
		{onto.Point{}, "head", true, false, false},
		{onto.AtCommit(7), "commit 7", false, true, false},
		{onto.AtCommit(0), "commit 0", false, true, false},
		{onto.AtTime(at), "2026-02-10T12:34:56.789012+00:00", false, false, true},
		{onto.AtTime(time.Time{}), "0001-01-01T00:00:00.000000+00:00", false, false, true},
	} {
		if got := c.point.String(); got != c.text {
			t.Errorf("got %s, want %s", got, c.text)
		}
		_, isCommit := c.point.Commit()
		_, isTime := c.point.Time()
		if c.point.IsHead() != c.head || isCommit != c.isCommit || isTime != c.isTime {
			t.Errorf("%s: got head %v, commit %v, time %v", c.text, c.point.IsHead(), isCommit, isTime)
		}
	}
	if got, _ := onto.AtCommit(7).Commit(); got != 7 {
		t.Errorf("got commit %d, want 7", got)
	}
	if got, _ := onto.AtTime(at).Time(); !got.Equal(at) {
		t.Errorf("got time %v, want %v", got, at)
	}
}

func TestResultChanged(t *testing.T) {
	if (onto.Result{}).Changed() {
		t.Error("no commit: got changed")
	}
	if !(onto.Result{Commit: onto.Commit{ID: 1}}).Changed() {
		t.Error("a commit: got unchanged")
	}
}

func TestFindingString(t *testing.T) {
	f := onto.Finding{Code: "dangling", Severity: onto.SeverityWarning, Message: "Owns \"a\" → \"b\"", Remedy: onto.NewHint("delete it")}
	if got, want := f.String(), `warning dangling: Owns "a" → "b"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
