package schemafile_test

import (
	"fmt"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/store/schemafile"
)

func ExampleParse() {
	types, err := schemafile.Parse([]byte(`
entities:
  Book:
    key: isbn
    fields:
      isbn:  {type: string}
      title: {type: string, search: true}
      pages: {type: int, optional: true}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range types {
		schema, err := t.Schema()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(schema.Kind, schema.Name, schema.FieldNames())
	}
	// Output:
	// entity Book [isbn pages title]
}

// Mistakes are reported with their place, and with a suggestion if one is near.
func ExampleParse_mistake() {
	_, err := schemafile.Parse([]byte(`
entities:
  Book:
    key: isbn
    fields:
      isbn:  {type: string}
      title: {type: strng, search: true}
`))
	fmt.Println(err)
	fmt.Println(onto.HintOf(err))
	// Output:
	// line 7, column 21: entities.Book.fields.title.type: unknown type "strng"
	// did you mean string?
}

// Format writes the types of a program as a file.
func ExampleFormat() {
	type Book struct {
		Title string `json:"title" onto:"search"`
		ISBN  string `json:"isbn" onto:"key"`
		Pages *int   `json:"pages"`
	}
	schema, err := onto.TypeOf[Book]().Schema()
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := schemafile.Format([]onto.Schema{schema})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(file))
	// Output:
	// entities:
	//   Book:
	//     key: isbn
	//     fields:
	//       isbn:  {type: string}
	//       pages: {type: int, optional: true}
	//       title: {type: string, search: true}
}
