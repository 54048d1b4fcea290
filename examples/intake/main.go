// Command intake takes in private texts, and keeps none of them in the store: facts hold
// a reference to where a text is sealed, and a digest that proves which one it was. When
// the sealed text is deleted, the history of its item stays, and tells nothing of it.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend/sqlite"
	"github.com/ontologia/onto/store"
)

// Stage is what happens to an item. Texts are sealed.
type Stage struct {
	onto.About[string]
	Received    Sealed `json:"received"`
	Redacted    Sealed `json:"redacted"`
	Quarantined string `json:"quarantined"` // why, for operators; nothing of the text
	Released    bool   `json:"released"`
}

// Sealed refers to a text that is kept elsewhere.
type Sealed struct {
	Ref    string `json:"ref"`
	Digest string `json:"digest"` // of the sealed bytes, which begin with a random part: the text cannot be guessed from it
}

// Item is an item as operators see it.
type Item struct {
	ID     string `json:"id" onto:"key"`
	Stage  string `json:"stage" onto:"index"`
	Text   string `json:"text"` // the reference to its newest form
	Reason string `json:"reason"`
}

var items = store.Fold[Stage, Item]{Name: "items", Version: 1, Apply: apply}

func apply(it *Item, f onto.Fact, _ onto.Draft) error {
	it.Stage = f.Attribute
	switch f.Attribute {
	case "received", "redacted":
		var text Sealed
		err := f.Decode(&text)
		it.Text = text.Ref
		return err
	case "quarantined":
		return f.Decode(&it.Reason)
	case "released":
		if it.Text == "" {
			return errors.New("there is no text to release")
		}
		it.Reason = ""
	}
	return nil
}

// vault keeps sealed texts as files of one directory. A real one encrypts them.
type vault string

// seal keeps a text, and returns what a fact may say about it.
func (v vault) seal(text string) (Sealed, error) {
	bytes := append([]byte(rand.Text()), text...)
	s := Sealed{Ref: rand.Text()}
	sum := sha256.Sum256(bytes)
	s.Digest = hex.EncodeToString(sum[:])
	return s, os.WriteFile(filepath.Join(string(v), s.Ref), bytes, 0o600)
}

// unseal returns the text that a fact refers to. It fails if it is gone, or another one.
func (v vault) unseal(s Sealed) (string, error) {
	bytes, err := os.ReadFile(filepath.Join(string(v), filepath.Base(s.Ref)))
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(bytes); hex.EncodeToString(sum[:]) != s.Digest {
		return "", errors.New("this is not the text that was sealed")
	}
	return string(bytes[len(rand.Text()):]), nil
}

func main() {
	dir := "intake"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	ctx := context.Background()
	if err := os.MkdirAll(filepath.Join(dir, "vault"), 0o700); err != nil {
		log.Fatal(err)
	}
	s, err := open(ctx, filepath.Join(dir, "intake.db"), items)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := run(ctx, s, vault(filepath.Join(dir, "vault"))); err != nil {
		log.Fatal(err)
	}
}

func open(ctx context.Context, path string, fold store.Folding) (*store.Store, error) {
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return store.OpenWith(ctx, db, &store.Options{Folds: []store.Folding{fold}}, onto.TypeOf[Stage]())
}

func run(ctx context.Context, s *store.Store, v vault) error {
	say := func(attribute string, value any) error {
		_, err := s.Commit(ctx, onto.Draft{Actor: onto.Component("intake")}.
			Assert(onto.Fact{Type: "Stage", Subject: "w1", Attribute: attribute, Value: value}))
		return err
	}
	raw, err := v.seal("Ada Lovelace, born 1815, asks for help")
	if err != nil {
		return err
	}
	redacted, err := v.seal("A person asks for help")
	if err != nil {
		return err
	}
	for _, step := range []struct {
		attribute string
		value     any
	}{{"received", raw}, {"quarantined", "names a person"}, {"redacted", redacted}, {"released", true}} {
		if err := say(step.attribute, step.value); err != nil {
			return err
		}
	}

	item, err := store.Get[Item](ctx, s.Now(), "w1")
	if err != nil {
		return err
	}
	fmt.Println("now:", item.Stage)

	// The raw text has to go. Its fact stays, and says nothing without it.
	if err := os.Remove(filepath.Join(string(v), raw.Ref)); err != nil {
		return err
	}
	for f, err := range s.Now().Facts("Stage").About("w1").Attribute("received", "redacted").All(ctx) {
		if err != nil {
			return err
		}
		var sealed Sealed
		if err := f.Decode(&sealed); err != nil {
			return err
		}
		text, err := v.unseal(sealed)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = "deleted", nil
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", f.Attribute, text)
	}
	return nil
}
