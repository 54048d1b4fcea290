package work

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/document"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/work"
)

// addFlags is an item, as it was typed.
type addFlags struct {
	work.Item
	headers         []string
	metadata, scope string
	delay           time.Duration
	priority        int
}

func addCommand(c *session.Session) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add URI",
		Short: "Add one item",
		Long: `Add a resource to the queue, to be fetched from its URI. What is left out is made of
the URI: the source is its host, and the resource's id is the URI itself. A resource
that is known changes nothing, whatever else is given.

It prints the id of the item, and says if it was known.`,
		Example: `  onto work add https://example.org/
  onto work add https://example.org/api/works --source api --type works --id all --priority 10
  onto work add https://example.org/ --run-id nightly --scope run --header 'Accept-Language: en'`,
		Args: session.ArgCount(1),
		RunE: func(cmd *cobra.Command, args []string) error { return add(c, cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.System, "system", "http", "the `KIND` of the source, which chooses how it is fetched")
	flags.StringVar(&f.Source, "source", "", "the `NAME` of the source (default: the host)")
	flags.StringVar(&f.Type, "type", "page", "the `TYPE` of the resource")
	flags.StringVar(&f.ID, "id", "", "the `ID` of the resource at its source (default: the URI)")
	flags.StringVar(&f.Method, "method", "", "the `METHOD` of the request (default GET)")
	flags.StringArrayVar(&f.headers, "header", nil, "a header of the request, as `'NAME: VALUE'`; may be repeated")
	flags.StringVar(&f.Body, "body", "", "the body of the request, a `TEXT`")
	flags.StringVar(&f.metadata, "metadata", "", "what to keep with the item, as a `JSON` object")
	flags.IntVar(&f.priority, "priority", onto.DefaultWorkPriority, "lower numbers `N` are fetched first")
	flags.StringVar(&f.Run, "run-id", "", "the `ID` of the run that it belongs to")
	flags.StringVar(&f.scope, "scope", "", "how long it is known, a `WORD`: forever, or run: once for each run")
	flags.DurationVar(&f.delay, "delay", 0, "not to be fetched for this `TIME`, such as 15m")
	complete(c, cmd, "source", func(n backend.WorkCount) string { return n.Source })
	return cmd
}

// item is the item that the flags describe.
func (f *addFlags) item(uri string) (work.Item, error) {
	i := f.Item
	i.URI, i.Delay, i.Scope, i.Priority = uri, f.delay, work.Scope(f.scope), &f.priority
	i.ID = cmp.Or(i.ID, uri)
	if u, err := url.Parse(uri); err == nil {
		i.Source = cmp.Or(i.Source, u.Host)
		if i.Source == "" {
			return i, onto.Errorf(onto.Invalid, "the URI %.200q has no host that could name the source", uri).
				WithHint("write it whole, as in https://example.org/page, or give --source")
		}
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return i, onto.Errorf(onto.Invalid, "--header %.80q is not NAME: VALUE", h).WithHint("for example: --header 'Accept-Language: en'")
		}
		if i.Headers == nil {
			i.Headers = map[string]string{}
		}
		i.Headers[name] = strings.TrimSpace(value)
	}
	if f.metadata != "" {
		var m column[map[string]any]
		if err := m.UnmarshalJSON([]byte(f.metadata)); err != nil {
			return i, onto.Errorf(onto.Invalid, "--metadata is no JSON object: %.80q", f.metadata).WithHint(`write it like {"seed":true}; in a shell, in single quotes`)
		}
		i.Metadata = m.value
	}
	if err := i.Check(); err != nil {
		return i, err
	}
	return i, nil
}

func add(c *session.Session, cmd *cobra.Command, f *addFlags, uri string) error {
	i, err := f.item(uri)
	if err != nil {
		return err
	}
	return with(c, cmd, place.Creating, func(ctx context.Context, q *work.Queue) error {
		fresh, err := q.Enqueue(ctx, i)
		if err != nil {
			return err
		}
		w, err := q.Find(ctx, i)
		if err != nil {
			return err
		}
		return printAdded(c, w, fresh[0])
	})
}

func printAdded(c *session.Session, w backend.WorkState, fresh bool) error {
	if c.JSON {
		return c.Document(document.AddedWork{New: fresh, WorkItem: document.NewWorkItem(w)})
	}
	if !fresh {
		c.Say("it was known, and is %s", w.Status)
	}
	return c.Out.Line("%s", w.ID)
}
