package sqlite

import "testing"

// What is kept is bounded: the orders that were not used for the longest time go first.
func TestKeptOrdersAreBounded(t *testing.T) {
	var k keptOrders
	k.put(&keptOrder{of: "first", size: maxKept / 2})
	k.put(&keptOrder{of: "second", size: maxKept / 2})
	k.get("first")
	k.put(&keptOrder{of: "third", size: maxKept / 4})
	for name, want := range map[string]bool{"first": true, "second": false, "third": true} {
		if _, got := k.get(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	for range 2 * maxOrders {
		k.put(&keptOrder{of: string(rune('a' + len(k.list))), tooLong: true})
	}
	if len(k.list) > maxOrders {
		t.Errorf("got %d orders, want at most %d", len(k.list), maxOrders)
	}
}
