package upkeep_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/memory"
	"github.com/ontologia/onto/upkeep"
)

// patient is a backend with given findings.
type patient struct {
	backend.Backend
	survey, check []string
	failure       error // after the survey
}

func (p patient) Survey(context.Context) iter.Seq2[onto.Finding, error] {
	return findings(p.survey, p.failure)
}

func (p patient) Check(context.Context) iter.Seq2[onto.Finding, error] { return findings(p.check, nil) }

func findings(codes []string, last error) iter.Seq2[onto.Finding, error] {
	return func(yield func(onto.Finding, error) bool) {
		for _, code := range codes {
			if !yield(onto.Finding{Code: code}, nil) {
				return
			}
		}
		if last != nil {
			yield(onto.Finding{}, last)
		}
	}
}

// wrapper is a backend around another.
type wrapper struct{ backend.Backend }

func (w wrapper) Unwrap() backend.Backend { return w.Backend }

func examine(t *testing.T, b backend.Backend, opts *upkeep.Options) (codes []string, err error) {
	t.Helper()
	for f, err := range upkeep.Examine(t.Context(), b, opts) {
		if err != nil {
			return codes, err
		}
		if f.Explanation == "" || f.Remedy.Text == "" {
			t.Errorf("%s lacks an explanation or a remedy", f.Code)
		}
		codes = append(codes, f.Code)
	}
	return codes, nil
}

func TestExamine(t *testing.T) {
	failure := errors.New("failure")
	sick := patient{Backend: memory.New(nil).Open(), survey: []string{"wal_large", "disk_low"}, check: []string{"commit_gap"}}
	failing := sick
	failing.failure = failure
	for _, c := range []struct {
		name  string
		b     backend.Backend
		quick bool
		want  []string
		err   error
	}{
		{"both", sick, false, []string{"wal_large", "disk_low", "commit_gap"}, nil},
		{"quick", sick, true, []string{"wal_large", "disk_low"}, nil},
		{"through a wrapper", wrapper{sick}, false, []string{"wal_large", "disk_low", "commit_gap"}, nil},
		{"a survey that fails", failing, false, []string{"wal_large", "disk_low", "commit_gap"}, failure},
		{"neither", wrapper{nil}, false, nil, onto.UnsupportedOperation},
		{"healthy", memory.New(nil).Open(), false, nil, nil},
		{"healthy and quick", memory.New(nil).Open(), true, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := examine(t, c.b, &upkeep.Options{Quick: c.quick})
			if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
				t.Errorf("got %v and error %v, want %v and error %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestExamineStopsWhenAsked(t *testing.T) {
	n := 0
	for range upkeep.Examine(t.Context(), patient{Backend: memory.New(nil).Open(), survey: []string{"wal_large", "disk_low"}, check: []string{"commit_gap"}}, nil) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d findings after one was enough", n)
	}
}

func TestExamineTellsItsSteps(t *testing.T) {
	var steps []string
	_, err := examine(t, patient{Backend: memory.New(nil).Open()}, &upkeep.Options{Progress: func(step string) { steps = append(steps, step) }})
	if want := []string{"circumstances", "what is stored"}; err != nil || !slices.Equal(steps, want) {
		t.Errorf("got %v and error %v, want %v", steps, err, want)
	}
}

func TestExplain(t *testing.T) {
	own := upkeep.Explain(onto.Finding{Code: "commit_gap", Remedy: onto.NewHint("call Ada")})
	if own.Remedy.Text != "call Ada" || own.Explanation == "" {
		t.Errorf("got %+v, want its own remedy and an explanation", own)
	}
	if unknown := upkeep.Explain(onto.Finding{Code: "no_such_code"}); !reflect.DeepEqual(unknown, onto.Finding{Code: "no_such_code"}) {
		t.Errorf("got %+v, want the finding as it was", unknown)
	}
}
