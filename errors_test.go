package onto_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"testing"

	"github.com/ontologia/onto"
)

func TestErrorCarriesItsCode(t *testing.T) {
	for _, code := range onto.Codes() {
		var err error = onto.Errorf(code, "it broke")
		wrapped := fmt.Errorf("reading: %w", err)
		if !errors.Is(err, code) || !errors.Is(wrapped, code) {
			t.Errorf("%s: errors.Is is false", code)
		}
		if got := onto.CodeOf(wrapped); got != code {
			t.Errorf("CodeOf: got %q, want %q", got, code)
		}
		for _, other := range onto.Codes() {
			if other != code && errors.Is(wrapped, other) {
				t.Errorf("%s passes for %s", code, other)
			}
		}
	}
}

func TestCodesAreDistinct(t *testing.T) {
	codes := onto.Codes()
	slices.Sort(codes)
	if got := len(slices.Compact(slices.Clone(codes))); got != len(codes) {
		t.Errorf("got %d distinct codes of %d", got, len(codes))
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want onto.Code
	}{
		{nil, ""},
		{io.EOF, ""},
		{onto.NotFound, onto.NotFound},
		{fmt.Errorf("get: %w", onto.NotFound), onto.NotFound},
		{onto.Errorf(onto.Conflict, "x"), onto.Conflict},
		{onto.Errorf(onto.Unavailable, "x: %w", onto.Errorf(onto.Full, "y")), onto.Unavailable},
		{errors.Join(io.EOF, onto.Errorf(onto.Closed, "x")), onto.Closed},
	} {
		if got := onto.CodeOf(c.err); got != c.want {
			t.Errorf("CodeOf(%v): got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestErrorf(t *testing.T) {
	inner := onto.Errorf(onto.Full, "disk %d", 1)
	for _, c := range []struct {
		name   string
		err    *onto.Error
		text   string
		causes []error
	}{
		{"no cause", onto.Errorf(onto.Invalid, "field %q", "a"), `field "a"`, nil},
		{"a cause", onto.Errorf(onto.Corrupt, "read %s: %w", "x.db", io.ErrUnexpectedEOF), "read x.db: unexpected EOF", []error{io.ErrUnexpectedEOF}},
		{"a cause with a code", onto.Errorf(onto.Unavailable, "commit: %w", inner), "commit: disk 1", []error{inner, onto.Full}},
		{"two causes", onto.Errorf(onto.Unavailable, "%w, then %w", io.EOF, fs.ErrClosed), "EOF, then file already closed", []error{io.EOF, fs.ErrClosed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.err.Error(); got != c.text {
				t.Errorf("got %q, want %q", got, c.text)
			}
			for _, cause := range c.causes {
				if !errors.Is(c.err, cause) {
					t.Errorf("errors.Is(err, %v): got false", cause)
				}
			}
			var e *onto.Error
			if !errors.As(fmt.Errorf("outer: %w", c.err), &e) || e != c.err {
				t.Errorf("errors.As: got %v, want %v", e, c.err)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  onto.Error
		want string
	}{
		{onto.Error{Message: "commit 3"}, "commit 3"},
		{onto.Error{Err: io.EOF}, "EOF"},
		{onto.Error{Message: "commit 3", Err: io.EOF}, "commit 3: EOF"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := onto.NotFound.Error(); got != "not_found" {
		t.Errorf("got %q, want not_found", got)
	}
}
