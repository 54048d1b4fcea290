package bus_test

import (
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
)

// A type of which there never was an event in the namespace is an error that names those
// that there were, the nearest first; one whose events were removed is none.
func TestCheckType(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &bus.Options{Namespace: "eu"})
		check := func(typ, hint string) {
			t.Helper()
			err := w.b.CheckType(t.Context(), typ)
			if hint == "" && err == nil {
				return
			}
			if got := onto.HintOf(err).Text; onto.CodeOf(err) != onto.NotFound || !strings.Contains(err.Error(), typ+" was ever emitted in namespace eu") || got != hint {
				t.Errorf("%s: got %v with hint %q, want %q", typ, err, got, hint)
			}
		}
		check("OrderPaid", "no event of any type was: see what other namespaces have")
		w.emit(onto.Emission{Type: "Zeal", Payload: 1}, onto.Emission{Type: "OrderPaid", Payload: 1}, onto.Emission{Type: "OrderSent", Payload: 1},
			onto.Emission{Type: "OrderPiad", Payload: 1, Namespace: "us"})
		check("OrderPiad", "did you mean OrderPaid? events were emitted of OrderPaid, OrderSent, Zeal")
		check("Zebra", "events were emitted of Zeal, OrderPaid, OrderSent")
		check("OrderPaid", "")
		today, err := w.b.Today(t.Context())
		if err == nil {
			_, err = w.b.Clean(t.Context(), &backend.Cleaning{Before: today.Add(1 << 40), Unhandled: true, Apply: true}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		check("OrderPaid", "")
		for _, n := range "abcdefghij" {
			w.emit(onto.Emission{Type: "Many" + string(n), Payload: 1})
		}
		check("Manyk", "did you mean Manya? events were emitted of Manya, Manyb, Manyc, Manyd, Manye, Manyf, Manyg, Manyh, Manyi, Manyj and 3 others")
	})
}
