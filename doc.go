// Package onto is the vocabulary of Ontologia: the types that all other packages share.
// It does no input or output and needs nothing outside the standard library and this
// module's canonical JSON.
//
// # The model
//
// A store is one log of commits, numbered 1, 2, 3, … without gaps. A [Commit]
// is atomic and says who made it, when and why. It holds versions: a [Version]
// is the full state of one [Identity] after that commit, and is never changed
// afterwards. An identity is an entity (type and key) or a relation (type,
// left key, right key and instance key). A delete is a version too: history
// shows it, the present hides it.
//
// Because nothing is overwritten, any state can be read again, as of any
// commit or time.
//
// # Types
//
// A type is described by a [Schema]. It comes from a Go struct through
// [TypeOf], or from a schema file; both give the same schema.
//
//	type Customer struct {
//		ID   string `json:"id" onto:"key"`
//		Name string `json:"name" onto:"search"`
//		Tier string `json:"tier" onto:"index"`
//	}
//
//	type Subscription struct {
//		onto.Link[Customer, Product]
//		Seats int `json:"seats"`
//	}
//
// A relation is made with the keys of its two ends:
//
//	Subscription{Link: onto.Between[Customer, Product]("c1", "p1"), Seats: 3}
//
// Field names come from the json tag. A pointer, or a field marked omitempty
// or omitzero, is optional unless it has a default. The onto tag takes a comma
// separated list:
//
//	key           the field is the entity's key (string or integer)
//	instance      the field is the relation's instance key; instance=NAME gives
//	              it another name, and with json:"-" it is not among the fields
//	index         the field is worth an index
//	search        the words of the field can be searched
//	enum=A|B      the values that a string or an integer can have, or each
//	              element of a list of these
//	default=JSON  stands in for a missing value; must come last. A text has
//	              quotes, in a tag `onto:"default=\"PT\""`
//
// Structs, slices, arrays and maps inside are followed: their fields are declared, too, and
// can have index, enum and default. Values of interfaces, and of types with a JSON form of
// their own, can be anything. A [Date] is a day.
//
// A struct's zero value is a value: for a default to stand in, the field must
// be a pointer or marked omitzero. With a pointer the zero value can be stored as well.
//
// # Writing
//
// A [Draft] collects what should be true and is handed to a store, which computes the
// difference and makes one commit, or none if nothing differs. [Draft.Ensure] gives all
// fields of a thing, [Draft.Merge] some, and [Draft.Delete] ends it;
// [Draft.ExpectVersion] and [Draft.ExpectHead] say what must not have changed meanwhile,
// and [Draft.Given] what the draft was computed from.
//
// # Errors
//
// Errors are of type *[Error] and carry a [Code], so programs ask
// errors.Is(err, onto.NotFound), people read the message, and operators read
// the hint.
package onto
