package onto_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ontologia/onto"
)

type (
	// spelled is written as a text of its own, also where it is zero.
	spelled struct{ n int }

	// mute cannot be written while it is zero.
	mute struct{ n int }

	roomBefore struct {
		ID   string `json:"id" onto:"key"`
		Beds []bed  `json:"beds"`
	}
	bed struct {
		Size int `json:"size"`
	}

	room struct {
		ID    string               `json:"id" onto:"key"`
		Beds  []wideBed            `json:"beds"`
		Text  string               `json:"text"`
		Bytes []byte               `json:"bytes"`
		Whole uint16               `json:"whole"`
		Real  float64              `json:"real"`
		Yes   bool                 `json:"yes"`
		At    time.Time            `json:"at"`
		Day   onto.Date            `json:"day"`
		Tags  []string             `json:"tags"`
		Pair  [2]int               `json:"pair"`
		Map   map[string]wideBed   `json:"map"`
		Free  map[string]any       `json:"free"`
		View  struct{ Sea string } `json:"view"`
		More  inner                `json:"more"`
		As    int                  `json:"as,string"`
		Own   spelled              `json:"own"`
		Addr  netip.Addr           `json:"addr"`
		Maybe *inner               `json:"maybe"`
		Left  string               `json:"left,omitempty"`
		Tier  int                  `json:"tier" onto:"default=3"`
		Enum  string               `json:"enum" onto:"enum=|a"`
	}
	wideBed struct {
		Size int    `json:"size"`
		Firm bool   `json:"firm"`
		Note *inner `json:"note"`
	}
	inner struct {
		N     int   `json:"n"`
		Seven int   `json:"seven" onto:"default=7"`
		Maybe *int  `json:"maybe"`
		Deep  []int `json:"deep"`
	}
)

func (s spelled) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "n%d", s.n), nil }
func (s *spelled) UnmarshalText(t []byte) error {
	_, err := fmt.Sscanf(string(t), "n%d", &s.n)
	return err
}

func (m mute) MarshalText() ([]byte, error) {
	if m.n == 0 {
		return nil, fmt.Errorf("zero")
	}
	return []byte("m"), nil
}
func (m *mute) UnmarshalText([]byte) error { m.n = 1; return nil }

func schemaAs[T any](t *testing.T, name string) onto.Schema {
	t.Helper()
	s, err := onto.TypeOf[T]().As(name).Schema()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each new field begins as the zero value of its Go type, in the form in which a struct with
// that value is stored.
func TestJoiningFillsZeros(t *testing.T) {
	stored := schemaAs[roomBefore](t, "Room")
	given := onto.TypeOf[room]().As("Room")
	joined, lacking := given.Joining(stored)
	if len(lacking) > 0 {
		t.Fatal(lacking)
	}
	if err := joined.Check(); err != nil {
		t.Fatal(err)
	}
	if !onto.Compatible(stored, joined) {
		t.Error("it is not compatible")
	}
	var got []string
	for _, f := range joined.Fields {
		got = append(got, f.Name+" "+string(f.Default))
	}
	want := `addr ""; as "0"; at "0001-01-01T00:00:00.000000+00:00"; beds ; bytes ""; day "0001-01-01"; enum ""; free {}; id ; left ; map {}; maybe ; ` +
		`more {"deep":[],"n":0,"seven":7}; own "n0"; pair []; real 0; tags []; text ""; tier 3; view {"Sea":""}; whole 0; yes false`
	if list := strings.Join(got, "; "); list != want {
		t.Errorf("got  %s\nwant %s", list, want)
	}
	beds, _ := joined.Field("beds")
	if firm, _ := beds.Items.Inner("firm"); string(firm.Default) != "false" {
		t.Errorf("inside a list: got %s", firm.Default)
	}
	if literal := schemaAs[room](t, "Room"); onto.Compatible(stored, literal) {
		t.Error("joining has changed the type itself")
	}

	again, _ := given.Joining(joined)
	if d := onto.DiffSchemas(joined, again); !d.Empty() {
		t.Errorf("the second time: %s", d)
	}
	untyped, _ := onto.Untyped(schemaAs[room](t, "Room")).Joining(stored)
	if d := onto.DiffSchemas(schemaAs[room](t, "Room"), untyped); !d.Empty() {
		t.Errorf("without a Go struct: %s", d)
	}
}

// What is stored stays as it is, unless its default is the zero value.
func TestJoiningKeepsWhatIsStored(t *testing.T) {
	type shop struct {
		ID    string `json:"id" onto:"key"`
		Plain string `json:"plain"`
		Zero  string `json:"zero"`
		Other string `json:"other"`
		Own   string `json:"own" onto:"default=\"x\""`
	}
	stored := schemaAs[shop](t, "Shop")
	for name, value := range map[string]string{"zero": `""`, "other": `"o"`, "own": `""`} {
		for i := range stored.Fields {
			if stored.Fields[i].Name == name {
				stored.Fields[i].Default = json.RawMessage(value)
			}
		}
	}
	joined, lacking := onto.TypeOf[shop]().As("Shop").Joining(stored)
	d := onto.DiffSchemas(stored, joined)
	want := `Shop: ~ other: string default "o" → string, ~ own: string default "" → string default "x"`
	if len(lacking) > 0 || d.String() != want {
		t.Errorf("got %s, %q; want %s", d, lacking, want)
	}
}

// An object whose default is its zero value may get further fields in either program.
func TestJoiningObjectsThatGrow(t *testing.T) {
	type none struct {
		ID string `json:"id" onto:"key"`
	}
	type small struct {
		ID   string                `json:"id" onto:"key"`
		Home struct{ City string } `json:"home"`
	}
	type large struct {
		ID   string                        `json:"id" onto:"key"`
		Home struct{ City, Street string } `json:"home"`
	}
	first, _ := onto.TypeOf[small]().As("P").Joining(schemaAs[none](t, "P"))
	second, _ := onto.TypeOf[large]().As("P").Joining(first)
	home, _ := second.Field("home")
	if string(home.Default) != `{"City":"","Street":""}` || !onto.Compatible(first, second) {
		t.Errorf("got %s, compatible %v", home.Default, onto.Compatible(first, second))
	}
	back, _ := onto.TypeOf[small]().As("P").Joining(second)
	if d := onto.DiffSchemas(first, back); !d.Empty() || !onto.Compatible(back, second) {
		t.Errorf("the smaller one: got %s, compatible %v", d, onto.Compatible(back, second))
	}
	if onto.Compatible(second, first) {
		t.Error("a field less is compatible")
	}
	other := first
	other.Fields = []onto.Field{{Name: "home", Type: onto.Object, Fields: home.Fields, Default: json.RawMessage(`{"City":"Rome","Street":""}`)}, first.Fields[1]}
	if onto.Compatible(first, other) {
		t.Error("another default is compatible")
	}
}

// What has no zero value is named, at every depth, and gets no default.
func TestJoiningWithoutAZero(t *testing.T) {
	type deep struct {
		Mood string `json:"mood" onto:"enum=calm|loud"`
	}
	type person struct {
		ID    string      `json:"id" onto:"key"`
		Mood  string      `json:"mood" onto:"enum=calm|loud"`
		Count int         `json:"count" onto:"enum=1|2"`
		Mute  mute        `json:"mute"`
		In    deep        `json:"in"`
		Any   any         `json:"any"`
		Num   json.Number `json:"num"`
	}
	stored := onto.Schema{Kind: onto.KindEntity, Name: "P", Key: "id", Fields: []onto.Field{{Name: "id", Type: onto.String}}}
	joined, lacking := onto.TypeOf[person]().As("P").Joining(stored)
	said := strings.Join(lacking, "\n")
	for _, want := range []string{`mood is required, and its zero value "" is none of "calm", "loud"`, `count is required, and its zero value 0 is none of 1, 2`,
		"mute is required, and the zero onto_test.mute is not stored", `in.mood is required`, "num is required and can hold anything"} {
		if !strings.Contains(said, want) {
			t.Errorf("got %s\nwant %s", said, want)
		}
	}
	if len(lacking) != 5 || onto.Compatible(stored, joined) {
		t.Errorf("got %q, compatible %v", lacking, onto.Compatible(stored, joined))
	}
}
