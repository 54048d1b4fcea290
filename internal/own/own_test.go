package own_test

import (
	"context"
	"testing"

	"github.com/ontologia/onto/internal/own"
)

func TestAllowed(t *testing.T) {
	inner, cancel := context.WithCancel(own.Allow(t.Context()))
	defer cancel()
	if own.Allowed(t.Context()) || own.Allowed(context.Background()) {
		t.Error("a context allows by itself")
	}
	if !own.Allowed(inner) {
		t.Error("a context made of one that allows does not")
	}
}
