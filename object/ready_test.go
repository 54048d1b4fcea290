package object_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/object"
)

type key = object.Key[string, string]

type (
	constantID    struct{ ID, Chat string }
	constantShard struct{ ID, Chat string }
	concatenated  struct{ ID, Chat string }
	lowered       struct{ ID, Chat string }
	numbered      struct {
		ID   int
		Chat string
	}
	optional struct {
		ID   string  `json:"id"`
		Chat *string `json:"chat,omitempty"`
	}
	panicking struct{ ID, Chat string }
	hidden    struct {
		ID   string `json:"id"`
		Chat string `json:"-"`
	}
	tagged struct {
		ID   string `json:"id" onto:"key"`
		Chat string `json:"chat"`
	}
	notAStruct string
	changing   struct{ A, B string }
	listedIDs  struct{ IDs []string }
	deep       struct {
		Head headed `json:"head"`
		Body string
	}
	headed struct{ From from }
	from   struct{ ID, Chat string }
	reads  struct {
		ID   string `json:"id"`
		Onto string `json:"onto_key"`
	}
)

var alternating int

func (o constantID) DBKey() key    { return object.KeyOf("one", o.Chat) }
func (o constantShard) DBKey() key { return object.KeyOf(o.ID, "one") }
func (o concatenated) DBKey() key  { return object.KeyOf(o.ID+"/"+o.Chat, o.Chat) }
func (o lowered) DBKey() key       { return object.KeyOf(strings.ToUpper(o.ID), o.Chat) }
func (o numbered) DBKey() key      { return object.KeyOf(strconv.Itoa(o.ID), o.Chat) }
func (o optional) DBKey() key {
	if o.Chat == nil {
		return object.KeyOf(o.ID, "")
	}
	return object.KeyOf(o.ID, *o.Chat)
}
func (o panicking) DBKey() key  { panic("not filled in") }
func (o hidden) DBKey() key     { return object.KeyOf(o.ID, o.Chat) }
func (o tagged) DBKey() key     { return object.KeyOf(o.ID, o.Chat) }
func (o notAStruct) DBKey() key { return object.KeyOf(string(o), string(o)) }
func (o changing) DBKey() key {
	if alternating++; alternating%2 == 0 {
		return object.KeyOf(o.A, o.A)
	}
	return object.KeyOf(o.B, o.B)
}
func (o listedIDs) DBKey() key { return object.KeyOf(strings.Join(o.IDs, ""), "x") }
func (o deep) DBKey() key      { return object.KeyOf(o.Head.From.ID, o.Head.From.Chat) }
func (o reads) DBKey() key     { return object.KeyOf(o.ID, o.ID) }

// refused returns what Ready panics with.
func refused(ready func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *onto.Error:
			err = r
		default:
			err = fmt.Errorf("the panic is %T: %v", r, r)
		}
	}()
	ready()
	return nil
}

// Ready refuses types and settings that cannot be a set, and says what is wrong with them.
func TestReadyRefuses(t *testing.T) {
	v := open(t, object.Config{"chat": {"acme": {"memory://"}}})
	for name, c := range map[string]struct {
		ready func()
		says  []string
	}{
		"a constant id":        {func() { object.NewSet[constantID](v, "chat").Ready() }, []string{"constantID.DBKey", "ID is not a field"}},
		"a constant shard key": {func() { object.NewSet[constantShard](v, "chat").Ready() }, []string{"constantShard.DBKey", "ShardKey is not a field"}},
		"a concatenation":      {func() { object.NewSet[concatenated](v, "chat").Ready() }, []string{"concatenated.DBKey", "nothing added"}},
		"other letters":        {func() { object.NewSet[lowered](v, "chat").Ready() }, []string{"lowered.DBKey"}},
		"a number":             {func() { object.NewSet[numbered](v, "chat").Ready() }, []string{"numbered.DBKey", "string fields"}},
		"an optional field":    {func() { object.NewSet[optional](v, "chat").Ready() }, []string{"optional.DBKey", "required"}},
		"a panic":              {func() { object.NewSet[panicking](v, "chat").Ready() }, []string{"panics", "not filled in"}},
		"a hidden field":       {func() { object.NewSet[hidden](v, "chat").Ready() }, []string{"hidden.DBKey"}},
		"a list":               {func() { object.NewSet[listedIDs](v, "chat").Ready() }, []string{"listedIDs.DBKey"}},
		"another each time":    {func() { object.NewSet[changing](v, "chat").Ready() }, []string{"changing.DBKey"}},
		"a key of its own":     {func() { object.NewSet[tagged](v, "chat").Ready() }, []string{"tagged", "key"}},
		"no struct":            {func() { object.NewSet[notAStruct](v, "chat").Ready() }, []string{"struct"}},
		"a field of the store": {func() { object.NewSet[reads](v, "chat").Ready() }, []string{"onto_key"}},
		"a bad name":           {func() { object.NewSet[Chat](v, "chat").As("no name").Ready() }, []string{"no name"}},
		"an unknown index":     {func() { object.NewSet[Message](v, "chat").WithIndexes("sendr").Ready() }, []string{"sendr", "sender"}},
		"an unknown path":      {func() { object.NewSet[Message](v, "chat").WithIndexes("place.cit").Ready() }, []string{"place", "cit"}},
		"an index of a list":   {func() { object.NewSet[Message](v, "chat").WithIndexes("place.tags").Ready() }, []string{"tags"}},
	} {
		err := refused(c.ready)
		if err == nil {
			t.Errorf("%s: it is ready", name)
			continue
		}
		text := err.Error() + " " + onto.HintOf(err).String()
		for _, s := range c.says {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %q does not say %s", name, text, s)
			}
		}
	}
	// None of them is in the way of a set that is right.
	if err := refused(func() {
		messagesOf(v)
		object.NewSet[deep](v, "chat").WithIndexes("head.From.Chat").Ready()
	}); err != nil {
		t.Error(err)
	}
}

// otherMessage has the name of Message once it is given that name.
type otherMessage struct{ ID string }

func (o otherMessage) DBKey() key { return object.KeyOf(o.ID, o.ID) }

// A vault has one set of each Go type, and of each name.
func TestSetsOfAVault(t *testing.T) {
	v := open(t, object.Config{"chat": {"acme": {"memory://"}}, "mail": {"acme": {"memory://"}}})
	messagesOf(v)
	messagesOf(v) // again, as it was
	for name, ready := range map[string]func(){
		"two types of one name": func() { object.NewSet[otherMessage](v, "chat").As("Message").Ready() },
		"one type of two names": func() { object.NewSet[Message](v, "chat").As("Mail").Ready() },
		"with other indexes":    func() { object.NewSet[Message](v, "chat").WithIndexes("sender").WithTextSearch().Ready() },
		"without search":        func() { object.NewSet[Message](v, "chat").WithIndexes("sender", "place.city").Ready() },
	} {
		err := refused(ready)
		if onto.CodeOf(err) != onto.Conflict || !strings.Contains(err.Error(), "Message") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := refused(func() {
		object.NewSet[otherMessage](v, "chat").Ready()
		object.NewSet[otherMessage](v, "mail").As("Message").Ready()
	}); err != nil {
		t.Error(err)
	}
	must(t, v.Init(t.Context(), "chat", "acme"))
	must(t, v.Init(t.Context(), "mail", "acme"))
	deeps := object.NewSet[deep](v, "chat").Ready().Tenant("acme")
	d := deep{headed{from{"a/b", "100%"}}, "x"}
	must(t, deeps.Insert(t.Context(), d))
	if got, err := deeps.SelectByID(t.Context(), "a/b"); err != nil || got != d {
		t.Errorf("got %+v, %v", got, err)
	}
	if n, err := deeps.Count(t.Context(), nil, "100%"); n != 1 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
}
