package work

import (
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ontologia/onto"
	"github.com/ontologia/onto/cmd/onto/internal/session"
	"github.com/ontologia/onto/store"
	"github.com/ontologia/onto/work"
)

// runFlags is a run, as it was typed.
type runFlags struct {
	into, out                     string
	run                           string
	resume, onlyRun               bool
	systems                       []string
	workers, maxItems, maxDepth   int
	maxAttempts                   int
	rates, concurrent             []string
	follow, domains               []string
	anyHost                       bool
	allow                         []string
	noRobots, unconditional       bool
	userAgent                     string
	timeout, drain, wait, backoff time.Duration
	lease                         time.Duration
	maxBytes                      int64
}

func (f *runFlags) register(c *session.Session, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.into, "into", "", "make each resource an entity of this `TYPE`")
	flags.StringVar(&f.out, "out", "", "write each resource as a JSON file below this `DIRECTORY`")
	flags.StringVar(&f.run, "run-id", "", "the `ID` of the run (default: a new one)")
	flags.BoolVar(&f.resume, "resume", false, "go on with the run that --run-id names")
	flags.BoolVar(&f.onlyRun, "only-run", false, "only items that belong to the run that --run-id names")
	flags.StringArrayVar(&f.systems, "system", []string{"http"}, "fetch items of this `SYSTEM`; may be repeated")
	flags.IntVar(&f.workers, "workers", work.DefaultWorkers, "fetch up to `N` items at a time")
	flags.IntVar(&f.maxItems, "max-items", 0, "end after `N` attempts")
	flags.IntVar(&f.maxDepth, "max-depth", 0, "follow links no further than `N` steps")
	flags.IntVar(&f.maxAttempts, "max-attempts", work.DefaultMaxAttempts, "an item fails after `N` attempts")
	flags.StringArrayVar(&f.rates, "rate", nil, "no more of a source than this, as `SOURCE=N/s`, /m or /h; without SOURCE= for all others; may be repeated")
	flags.StringArrayVar(&f.concurrent, "concurrent", nil, "no more of a source at a time, as `SOURCE=N`; without SOURCE= for all others; may be repeated")
	flags.StringSliceVar(&f.follow, "follow", nil, "make items of links, `KIND` is links (HTML) or json; may be repeated")
	flags.BoolVar(&f.anyHost, "any-host", false, "follow links to other hosts, too")
	flags.StringArrayVar(&f.domains, "domain", nil, "follow links to hosts of this `DOMAIN`, too; may be repeated")
	flags.StringArrayVar(&f.allow, "allow-private", nil, "fetch also from addresses in this `CIDR` that are not public; may be repeated")
	flags.BoolVar(&f.noRobots, "no-robots", false, "fetch also what robots.txt disallows")
	flags.BoolVar(&f.unconditional, "unconditional", false, "fetch also what has not changed since it was fetched, such as for a new --out")
	flags.StringVar(&f.userAgent, "user-agent", "", "the `NAME` that servers and robots.txt know (default onto)")
	flags.Int64Var(&f.maxBytes, "max-bytes", work.DefaultMaxBytes, "an item with a body of more than `N` bytes fails")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long a request may take with its redirects")
	flags.DurationVar(&f.backoff, "backoff", work.DefaultBackoffBase, "the pause before the second attempt, which doubles with each")
	flags.DurationVar(&f.lease, "lease", work.DefaultLease, "after how long an item of a process that died returns")
	flags.DurationVar(&f.drain, "drain", work.DefaultDrain, "how long what is under way may go on when told to stop")
	flags.DurationVar(&f.wait, "max-wait", 0, "end if nothing falls due for so long (default: wait for everything)")
	for name, text := range map[string]string{"lease": "1m", "system": "http"} {
		flags.Lookup(name).DefValue = text
	}
	_ = cmd.RegisterFlagCompletionFunc("into", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return session.CompleteType(c, onto.KindEntity)(cmd, nil, word)
	}) // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("follow", cobra.FixedCompletions([]string{"links", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	_ = cmd.MarkFlagDirname("out")                                                                                                      // the flag exists
}

// check refuses what could not run.
func (f *runFlags) check(cmd *cobra.Command) error {
	if f.into == "" && f.out == "" {
		return onto.Errorf(onto.Invalid, "it is not said what becomes of the resources").
			WithHint("give --into TYPE to store them, or --out DIRECTORY to write files")
	}
	if f.out != "" {
		if info, err := os.Stat(f.out); err != nil || !info.IsDir() {
			return onto.Errorf(onto.Invalid, "--out %s is not a directory", f.out).WithHint("make it first")
		}
	}
	if f.run == "" && (f.resume || f.onlyRun) {
		return onto.Errorf(onto.Invalid, "--resume and --only-run are about a run, and none is named").WithHint("add --run-id ID")
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"workers", int64(f.workers)}, {"max-items", int64(f.maxItems)}, {"max-depth", int64(f.maxDepth)}, {"max-attempts", int64(f.maxAttempts)},
		{"max-bytes", f.maxBytes}, {"timeout", int64(f.timeout)}, {"backoff", int64(f.backoff)}, {"lease", int64(f.lease)}, {"max-wait", int64(f.wait)},
	} {
		if n.value < 0 || n.value == 0 && cmd.Flags().Changed(n.name) {
			return onto.Errorf(onto.Invalid, "--%s %s is too small", n.name, cmd.Flag(n.name).Value)
		}
	}
	if f.drain < 0 {
		return onto.Errorf(onto.Invalid, "--drain %v is too small", f.drain)
	}
	return nil
}

func (f *runFlags) options() (*work.RunOptions, error) {
	limits, err := f.limits()
	return &work.RunOptions{
		Run: f.run, Resume: f.resume, OnlyRun: f.onlyRun, Systems: f.systems, Workers: f.workers, Limits: limits, MaxItems: f.maxItems, MaxDepth: f.maxDepth,
		MaxAttempts: f.maxAttempts, BackoffBase: f.backoff, Lease: f.lease, Drain: max(f.drain, 1), MaxWait: f.wait, // 0 would be the default
	}, err
}

// limits reads --rate and --concurrent.
func (f *runFlags) limits() (work.Limits, error) {
	limits := work.Limits{}
	for _, text := range f.concurrent {
		source, number := cutSource(text)
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return nil, onto.Errorf(onto.Invalid, "--concurrent %.80q is not SOURCE=N", text).WithHint("for example: --concurrent docs=2")
		}
		l := limits[source]
		l.Concurrent = n
		limits[source] = l
	}
	for _, text := range f.rates {
		source, rate := cutSource(text)
		number, unit, _ := strings.Cut(rate, "/")
		seconds, ok := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !ok || !(n > 0) || math.IsInf(n, 0) {
			return nil, onto.Errorf(onto.Invalid, "--rate %.80q is not SOURCE=N/s", text).WithHint("for example: --rate docs=5/s, or --rate docs=30/m")
		}
		l := limits[source]
		l.PerSecond = n / seconds
		limits[source] = l
	}
	return limits, nil
}

// cutSource splits SOURCE=VALUE. A source can have an equals sign in its name.
func cutSource(text string) (source, value string) {
	i := strings.LastIndex(text, "=")
	if i < 0 {
		return "", text
	}
	return text[:i], text[i+1:]
}

func (f *runFlags) connectors() (map[string]work.Connector, error) {
	o := &work.HTTPOptions{UserAgent: f.userAgent, Timeout: f.timeout, MaxBytes: f.maxBytes, IgnoreRobots: f.noRobots, Unconditional: f.unconditional}
	for _, text := range f.allow {
		net, err := netip.ParsePrefix(text)
		if addr, plain := netip.ParseAddr(text); plain == nil {
			net, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, onto.Errorf(onto.Invalid, "--allow-private %.80q is neither an address nor a range of them", text).WithHint("write 10.1.0.0/16, 192.168.1.7 or fd00::/8")
		}
		o.AllowNets = append(o.AllowNets, net)
	}
	http := work.HTTP(o)
	list := map[string]work.Connector{}
	for _, system := range f.systems {
		list[system] = http
	}
	return list, nil
}

func (f *runFlags) discoveries() ([]work.Discovery, error) {
	if len(f.follow) == 0 && (f.anyHost || len(f.domains) > 0) {
		return nil, onto.Errorf(onto.Invalid, "--any-host and --domain are about links, and none are followed").WithHint("add --follow links")
	}
	o := &work.LinkOptions{AnyHost: f.anyHost, Domains: f.domains}
	var list []work.Discovery
	for _, kind := range f.follow {
		switch kind {
		case "links":
			list = append(list, work.Links(o))
		case "json":
			d, err := work.JSONNext(o)
			if err != nil {
				return nil, err
			}
			list = append(list, d)
		default:
			return nil, onto.Errorf(onto.Invalid, "--follow %.80q is unknown", kind).WithHint("use links or json")
		}
	}
	return list, nil
}

func (f *runFlags) writers(s *store.Store) ([]work.Writer, error) {
	var list []work.Writer
	if f.into != "" {
		w, err := into(s, f.into)
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	if f.out != "" {
		list = append(list, work.Directory(f.out))
	}
	return list, nil
}
