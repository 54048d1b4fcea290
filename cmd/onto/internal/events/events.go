package events

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/backend"
	"github.com/ontologia/onto/bus"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/internal/place"
	"github.com/ontologia/onto/internal/suggest"
	"github.com/ontologia/onto/store"
)

// Events is the verbs of the bus.
func Events(c *session.Session) *cobra.Command {
	return session.Group("events", "Emit events, handle them, and look after those that failed", `  onto events emit --type OrderPaid --payload '{"order":"o1"}'
  onto events show
  onto events handle --handler mail --type OrderPaid -- ./send-mail
  onto events dead-letters`,
		emitCommand(c), showCommand(c), inspectCommand(c), namespacesCommand(c), sessionsCommand(c),
		deadLettersCommand(c), replayCommand(c), dropCommand(c), cleanupCommand(c), handleCommand(c))
}

// scope is the namespace that a verb is about.
type scope struct {
	name  string
	given bool // by the flag
}

// register adds --namespace.
func (s *scope) register(c *session.Session, cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.name, "namespace", "", "the `NAME` of the namespace (default: the setting default_namespace)")
	complete(c, cmd, "namespace", func(n backend.Namespace) []string { return []string{n.Name} })
}

// resolve fills in the namespace that is configured.
func (s *scope) resolve(cfg place.Settings, cmd *cobra.Command) error {
	s.given = cmd.Flags().Changed("namespace")
	if !s.given {
		s.name = cfg.Text("default_namespace")
	}
	return onto.CheckBusName("namespace", s.name)
}

// check is for a verb that has found nothing: a namespace that was named and does not
// exist is probably misspelled.
func (s *scope) check(ctx context.Context, b *bus.Bus) error {
	if !s.given {
		return nil
	}
	_, err := b.Namespace(ctx, s.name)
	return err
}

// with opens the store and its bus, and runs f.
func (s *scope) with(c *session.Session, cmd *cobra.Command, how place.Access, f func(ctx context.Context, b *bus.Bus) error) error {
	cfg, err := c.Configure()
	if err == nil {
		err = s.resolve(cfg, cmd)
	}
	if err != nil {
		return err
	}
	return c.WithStore(cmd.Context(), how, func(st *store.Store) error {
		b, err := bus.Open(st, options(cfg, s.name))
		if err != nil {
			return err
		}
		return f(cmd.Context(), b)
	})
}

// options is the settings of the bus.
func options(cfg place.Settings, namespace string) *bus.Options {
	return &bus.Options{
		Namespace:   namespace,
		ClaimLease:  cfg.Duration("event_claim_lease_ms"),
		ClaimLimit:  int(cfg.Number("event_claim_limit")),
		MaxPerPass:  int(cfg.Number("max_events_per_iteration")),
		MaxAttempts: int(cfg.Number("event_max_attempts")),
		BackoffBase: cfg.Duration("event_backoff_base_ms"),
		BackoffMax:  cfg.Duration("event_backoff_max_ms"),
		Poll:        cfg.Duration("event_poll_interval_ms"),
		Retention:   cfg.Duration("event_retention_ms"),
		Heartbeat:   cfg.Duration("session_heartbeat_interval_ms"),
		SessionTTL:  cfg.Duration("session_ttl_ms"),
		Log:         slog.New(slog.DiscardHandler),
	}
}

// complete completes the values of a flag with names that the namespaces have.
func complete(c *session.Session, cmd *cobra.Command, flag string, names func(backend.Namespace) []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var list []string
		err := c.WithStore(cmd.Context(), place.Reading, func(s *store.Store) error {
			b, err := bus.Open(s, nil)
			if err != nil {
				return err
			}
			all, err := b.Namespaces(cmd.Context())
			for _, n := range all {
				list = append(list, names(n)...)
			}
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		slices.Sort(list)
		return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
	}) // the flag exists
}

func handlersOf(n backend.Namespace) []string {
	var list []string
	for _, h := range n.Handlers {
		list = append(list, h.Name)
	}
	return list
}

func typesOf(n backend.Namespace) []string {
	var list []string
	for _, t := range n.Types {
		list = append(list, t.Name)
	}
	return list
}

// checkLimit refuses a limit that is none.
func checkLimit(cmd *cobra.Command, limit int) error {
	if limit < 0 || limit == 0 && cmd.Flags().Changed("limit") {
		return onto.Errorf(onto.Invalid, "--limit %d is too small", limit).WithHint("leave it out to get everything")
	}
	return nil
}

// required refuses a flag that was left out.
func required(flag, value string) error {
	if value == "" {
		return onto.Errorf(onto.Invalid, "--%s is missing", flag)
	}
	return nil
}

// unknownHandler is the error for a handler that is not among those of a namespace.
func unknownHandler(name, namespace string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	err := onto.Errorf(onto.NotFound, "namespace %s has no handler %s", namespace, name)
	if near := suggest.Name(name, known); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	if len(known) == 0 {
		return err.WithHint("no handler has asked for events there yet")
	}
	return err.WithHint("there are %s", strings.Join(known, ", "))
}
