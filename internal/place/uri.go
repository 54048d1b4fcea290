package place

import (
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/backend/lake/bucket"
	"github.com/ontologia/onto/backend/sqlite"
)

// uriForms is every storage URI, for hints.
const uriForms = "sqlite:///rel.db, sqlite:////abs.db, sqlite:///:memory:, file:///directory and s3://bucket/prefix"

// ParseURI reads a storage URI. Messages repeat no more of one that is wrong than
// the scheme, since the rest may hold a password.
func ParseURI(uri string) (Location, error) {
	scheme, err := backend.SchemeOf(uri, schemes(), "this build supports "+uriForms)
	if err != nil {
		return Location{}, err
	}
	loc := Location{flag: flag{"--storage-uri", uri}} // nothing in it is secret
	if scheme == "sqlite" {
		loc.Path, err = sqlite.ParseURI(uri)
	} else {
		loc.Lake.Address, err = bucket.ParseURI(uri)
	}
	if err != nil {
		return Location{}, err
	}
	return loc, nil
}

// LakeAddress is where the objects of a lake are. The zero value is nowhere.
type LakeAddress struct{ bucket.Address }

// lakeIn is the address of the lake in a directory.
func lakeIn(dir string) LakeAddress { return LakeAddress{bucket.Address{Dir: dir}} }

// lakeUnder is the address of the lake under a prefix of a bucket.
func lakeUnder(name, prefix string) LakeAddress {
	return LakeAddress{bucket.Address{Bucket: name, Prefix: prefix}}
}
