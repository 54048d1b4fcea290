package shape

import (
	"slices"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/internal/codec"
)

// About gathers what facts say of a subject, to be decoded into the Go struct of their
// type.
type About struct {
	t       *Type
	subject string
	newest  int64 // the commit of the newest of them
	any     bool
	object  []byte // one member for each attribute, open at its end
	name    string // of the last member
	list    bool   // it is a list
}

// NewAbout begins with no facts. The type is bound to a struct.
func (t *Type) NewAbout(subject string) *About {
	return &About{t: t, subject: subject, object: []byte{'{'}}
}

// Add adds a fact that speaks. Facts come by attribute, those on one with many values in
// the order of these. A fact on an attribute that the struct does not have is passed over.
func (a *About) Add(v *onto.Version) {
	a.any, a.newest = true, max(a.newest, v.Commit)
	i := slices.IndexFunc(a.t.encode, func(e fieldEncoder) bool { return e.Name == v.Right })
	value := codec.Find(v.Fields, []string{v.Right})
	if i < 0 || value == nil {
		return
	}
	if a.list && a.name == v.Right {
		a.object = append(append(a.object, ','), value...)
		return
	}
	a.close()
	if len(a.object) > 1 {
		a.object = append(a.object, ',')
	}
	a.object = append(a.object, a.t.encode[i].prefix...)
	if a.name, a.list = v.Right, a.t.encode[i].Many; a.list {
		a.object = append(a.object, '[')
	}
	a.object = append(a.object, value...)
}

// close ends the list that is the last member.
func (a *About) close() {
	if a.list {
		a.object, a.list = append(a.object, ']'), false
	}
}

// Empty reports whether there was no fact.
func (a *About) Empty() bool { return !a.any }

// Decode fills in the struct that dst points to.
func (a *About) Decode(dst any) error {
	a.close()
	v := onto.Version{
		Identity: onto.Identity{Kind: onto.KindFact, Type: a.t.Schema.Name, Left: a.subject},
		Op:       onto.Put, Commit: a.newest, Fields: append(a.object, '}'),
	}
	return a.t.Decode(&v, dst)
}
