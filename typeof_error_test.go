package onto_test

import (
	"fmt"
	"testing"

	"github.com/ontologia/onto"
)

type Generic[T any] struct {
	ID T `json:"id" onto:"key"`
}

// The structs below each have one mistake.
type (
	noKey   struct{ Name string }
	twoKeys struct {
		A, B string `onto:"key"`
	}
	badKey struct {
		ID float64 `json:"id" onto:"key"`
	}
	pointerKey struct {
		ID *string `json:"id" onto:"key"`
	}
	defaultKey struct {
		ID string `json:"id" onto:"key,default=\"x\""`
	}
	badName struct {
		ID string `json:"the-id" onto:"key"`
	}
	dashName struct {
		ID   string `json:"id" onto:"key"`
		Dash string `json:"-,"` //lint:ignore SA5008 a name that is refused
	}
	sameName struct {
		ID string `json:"id" onto:"key"`
		Signed
		Approved
	}
	badSearch struct {
		ID    string `json:"id" onto:"key"`
		Count int    `json:"count" onto:"search"`
	}
	badWord struct {
		ID string `json:"id" onto:"key,indexed"`
	}
	badSpace struct {
		ID string `json:"id" onto:"key, index"`
	}
	bareDefault struct {
		ID   string `json:"id" onto:"key"`
		Tier string `json:"tier" onto:"default=Silver"`
	}
	emptyDefault struct {
		ID   string `json:"id" onto:"key"`
		Tier string `json:"tier" onto:"default="`
	}
	wrongDefault struct {
		ID  string `json:"id" onto:"key"`
		Age int    `json:"age" onto:"default=\"old\""`
	}
	unexported struct {
		ID     string `json:"id" onto:"key"`
		secret string `onto:"index"` //lint:ignore U1000 a tag that is refused
	}
	leftOut struct {
		ID     string `json:"id" onto:"key"`
		Hidden string `json:"-" onto:"index"`
	}
	embeddedPointer struct {
		ID string `json:"id" onto:"key"`
		*Product
	}
	channel struct {
		ID   string   `json:"id" onto:"key"`
		Done chan int `json:"done"`
	}
	function struct {
		ID string  `json:"id" onto:"key"`
		Do *func() `json:"do"`
	}
	entityWithInstance struct {
		ID    string `json:"id" onto:"key"`
		Stint string `json:"stint" onto:"instance"`
	}
	relationWithKey struct {
		onto.Link[Customer, Product]
		ID string `json:"id" onto:"key"`
	}
	twoLinks struct {
		onto.Link[Customer, Product]
		Other
	}
	Other       struct{ onto.Link[Product, Customer] }
	pointerEnds struct {
		onto.Link[*Customer, Product]
	}
	genericEnds struct {
		onto.Link[Customer, Generic[int]]
	}
	pointerLink struct {
		*onto.Link[Customer, Product]
	}
	numberInstance struct {
		onto.Link[Customer, Product]
		Stint int `json:"stint" onto:"instance"`
	}
	twoInstances struct {
		onto.Link[Customer, Product]
		A string `json:"a" onto:"instance"`
		B string `json:"b" onto:"instance"`
	}
	namelessInstance struct {
		onto.Link[Customer, Product]
		Stint string `json:"-" onto:"instance"`
	}
	badInstanceName struct {
		onto.Link[Customer, Product]
		Stint string `json:"-" onto:"instance=a.b"`
	}
	floatKeys struct {
		ID string                          `json:"id" onto:"key"`
		By map[string][]map[float64]string `json:"by"`
	}
	boolKeys struct {
		ID string       `json:"id" onto:"key"`
		By map[bool]any `json:"by"`
	}
	optionalInstance struct {
		onto.Link[Customer, Product]
		Stint string `json:"stint,omitempty" onto:"instance"`
	}
)

func TestTypeOfRefuses(t *testing.T) {
	for _, c := range []struct {
		of   onto.Type
		want string
	}{
		{onto.Type{}, "the zero onto.Type describes nothing"},
		{onto.TypeOf[int](), "type int is not a named, plain struct"},
		{onto.TypeOf[*Customer](), "type *onto_test.Customer is not a named, plain struct"},
		{onto.TypeOf[map[string]any](), "type map[string]interface {} is not a named, plain struct"},
		{onto.TypeOf[struct{ ID string }](), "type struct { ID string } is not a named, plain struct"},
		{onto.TypeOf[fmt.Stringer](), "type fmt.Stringer is not a named, plain struct"},
		{onto.TypeOf[Generic[int]](), "type onto_test.Generic[int] is not a named, plain struct"},
		{onto.TypeOf[noKey](), "noKey: no field is the key"},
		{onto.TypeOf[twoKeys](), "twoKeys: both A and B are marked as the key"},
		{onto.TypeOf[badKey](), "badKey.id: a key is a string or an int, not float"},
		{onto.TypeOf[pointerKey](), "pointerKey.id: the key can be neither optional nor have a default"},
		{onto.TypeOf[defaultKey](), "defaultKey.id: the key can be neither optional nor have a default"},
		{onto.TypeOf[badName](), `badName: field name "the-id" is not allowed`},
		{onto.TypeOf[dashName](), `dashName: field name "-" is not allowed`},
		{onto.TypeOf[sameName](), "sameName: two struct fields are named By"},
		{onto.TypeOf[badSearch](), "badSearch.count: only strings can be searched, this is int"},
		{onto.TypeOf[badWord](), `badWord.ID: tag onto:"key,indexed" has the unknown word "indexed"`},
		{onto.TypeOf[badSpace](), `badSpace.ID: tag onto:"key, index" has the unknown word " index"`},
		{onto.TypeOf[bareDefault](), "bareDefault.tier: default Silver is not JSON"},
		{onto.TypeOf[emptyDefault](), `emptyDefault.Tier: tag onto:"default=" has an empty default`},
		{onto.TypeOf[wrongDefault](), `wrongDefault.age: default "old": expected int, found string`},
		{onto.TypeOf[unexported](), "unexported.secret: an unexported field cannot be stored"},
		{onto.TypeOf[leftOut](), `leftOut.Hidden: a field with json:"-" cannot be stored`},
		{onto.TypeOf[embeddedPointer](), "embeddedPointer: both id and sku are marked as the key"},
		{onto.TypeOf[channel](), "channel.done: a chan int cannot be stored"},
		{onto.TypeOf[floatKeys](), "floatKeys.by{}[]: a map[float64]string cannot be stored: keys of a map are strings or ints, or have a text form"},
		{onto.TypeOf[boolKeys](), "boolKeys.by: a map[bool]interface {} cannot be stored: keys of a map are strings or ints, or have a text form"},
		{onto.TypeOf[function](), "function.do: a *func() cannot be stored"},
		{onto.TypeOf[entityWithInstance](), "entityWithInstance: an entity has no endpoints and no instance key"},
		{onto.TypeOf[relationWithKey](), "relationWithKey: a relation has no key field"},
		{onto.TypeOf[twoLinks](), "twoLinks has two links"},
		{onto.TypeOf[pointerEnds](), "pointerEnds: left type name is empty"},
		{onto.TypeOf[genericEnds](), `genericEnds: right type name "Generic[int]" is not allowed`},
		{onto.TypeOf[pointerLink](), "pointerLink.Link: what a thing is about cannot be embedded as a pointer"},
		{onto.TypeOf[numberInstance](), "numberInstance.Stint: an instance key is a string"},
		{onto.TypeOf[twoInstances](), "twoInstances has two instance keys"},
		{onto.TypeOf[namelessInstance](), "namelessInstance.Stint: the instance key has no name"},
		{onto.TypeOf[badInstanceName](), `badInstanceName: instance key name "a.b" is not allowed`},
		{onto.TypeOf[optionalInstance](), "optionalInstance.stint: the instance key is a string, neither optional nor with a default"},
	} {
		_, err := c.of.Schema()
		if message(err) != c.want || onto.CodeOf(err) != onto.Invalid {
			t.Errorf("got  %v (%s)\nwant %s", err, onto.CodeOf(err), c.want)
		}
	}
}

func TestTypeOfHints(t *testing.T) {
	for _, c := range []struct {
		of   onto.Type
		want string
	}{
		{onto.Type{}, "use onto.TypeOf"},
		{onto.TypeOf[noKey](), `mark one with onto:"key", or name it with key: in the schema file`},
		{onto.TypeOf[badWord](), "use key, index, search, instance, many, enum=A|B or default=JSON"},
		{onto.TypeOf[bareDefault](), `a text default needs quotes: default="Silver"`},
		{onto.TypeOf[pointerLink](), "embed the struct itself"},
		{onto.TypeOf[channel](), `leave it out with json:"-"`},
		{onto.TypeOf[namelessInstance](), `write onto:"instance=NAME"`},
	} {
		if _, err := c.of.Schema(); onto.HintOf(err).String() != c.want {
			t.Errorf("%v: got hint %q, want %q", err, onto.HintOf(err), c.want)
		}
	}
}
