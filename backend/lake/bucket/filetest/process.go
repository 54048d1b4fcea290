package filetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/ontologia/onto/backend/lake/bucket/file"
)

// Fault is a way in which a call goes wrong.
type Fault string

// The faults. Where a fault does not apply to a call, the call fails without effect.
const (
	Fail Fault = "fail" // it has no effect
	Half Fault = "half" // a write does half of it
	Done Fault = "done" // it has its effect, but for a sync
	Kill Fault = "kill" // it has no effect, nor has any later call
)

// Faults lists every fault.
func Faults() []Fault { return []Fault{Fail, Half, Done, Kill} }

// ErrKilled is the error of calls of a process that was killed.
var ErrKilled = errors.New("the process was killed")

// Plan says which call of a process goes wrong.
type Plan struct {
	At    int   // which one, from 1 on; 0 for none
	Fault Fault // how
	Err   error // its error, but for Kill
	Stays bool  // later calls go wrong as well

	// On, if not nil, picks the calls that count; a call is named as in Trace.
	On func(call string) bool
}

// Process is the disk as one process uses it.
type Process struct {
	disk *Disk
	plan Plan

	mu    sync.Mutex // guards what follows
	count int
	hit   string
	trace []string
}

// Process lets a process use the disk.
func (d *Disk) Process(plan Plan) *Process { return &Process{disk: d, plan: plan} }

// Hit returns the call that went wrong; "" if none did.
func (p *Process) Hit() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}

// Trace returns the calls so far: the name of the call and the path. The names of
// temporary files are cut short.
func (p *Process) Trace() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.trace...)
}

// next decides about a call.
func (p *Process) next(call, path string) (Fault, error) {
	if i := strings.Index(path, "~tmp-"); i >= 0 {
		path = path[:i] + "~tmp"
	}
	if rel, err := filepath.Rel(p.disk.base, filepath.Clean(path)); err == nil {
		path = rel
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	line := call + " " + path
	p.trace = append(p.trace, line)
	counts := p.plan.On == nil || p.plan.On(line)
	if counts {
		p.count++
	}
	switch first := p.hit == ""; {
	case first && counts && p.count == p.plan.At:
		p.hit = line
	case first, p.plan.Fault != Kill && !(p.plan.Stays && counts):
		return "", nil
	}
	if p.plan.Fault == Kill {
		return Kill, fmt.Errorf("%s: %w", line, ErrKilled)
	}
	return p.plan.Fault, fmt.Errorf("%s: %w", line, p.plan.Err)
}

// do makes a call that has an effect or none.
func (p *Process) do(call, path string, effect func() error) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	fault, failure := p.next(call, path)
	if failure != nil && fault != Done {
		return failure
	}
	if err := effect(); err != nil {
		return err
	}
	return failure
}

// Create implements [file.Disk].
func (p *Process) Create(root *os.Root, name string) (f *os.File, err error) {
	err = p.do("create", filepath.Join(root.Name(), name), func() error {
		if f, err = (file.System{}).Create(root, name); err != nil {
			return err
		}
		dir, base := p.disk.entry(root, name)
		dir.names[base], dir.author[base] = &node{}, p
		return nil
	})
	if err != nil && f != nil {
		f.Close()
		f = nil
	}
	return f, err
}

// Write implements [file.Disk].
func (p *Process) Write(f *os.File, data []byte) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	fault, failure := p.next("write", f.Name())
	switch {
	case fault == Half:
		data = data[:len(data)/2]
	case failure != nil && fault != Done:
		return failure
	}
	if err := (file.System{}).Write(f, data); err != nil {
		return err
	}
	n := p.disk.find(f.Name())
	n.data = append(n.data, data...)
	return failure
}

// Sync implements [file.Disk].
func (p *Process) Sync(f *os.File) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	fault, failure := p.next("sync", f.Name())
	n := p.disk.find(f.Name())
	switch {
	case n == nil: // above the disk
	case fault == Kill:
	case failure != nil:
		n.failSync()
	case n.failed(p):
		return fmt.Errorf("sync %s: %w", f.Name(), syscall.EIO)
	default:
		n.sync()
	}
	return failure
}

// Mkdir implements [file.Disk].
func (p *Process) Mkdir(root *os.Root, name string) error {
	return p.do("mkdir", filepath.Join(root.Name(), name), func() error {
		if err := (file.System{}).Mkdir(root, name); err != nil {
			return err
		}
		dir, base := p.disk.entry(root, name)
		dir.names[base], dir.author[base] = newDir(), p
		return nil
	})
}

// Link implements [file.Disk].
func (p *Process) Link(root *os.Root, name, as string) error {
	return p.do("link", filepath.Join(root.Name(), as), func() error {
		if err := (file.System{}).Link(root, name, as); err != nil {
			return err
		}
		p.name(root, name, as)
		return nil
	})
}

// Rename implements [file.Disk].
func (p *Process) Rename(root *os.Root, name, as string) error {
	return p.do("rename", filepath.Join(root.Name(), as), func() error {
		if err := (file.System{}).Rename(root, name, as); err != nil {
			return err
		}
		p.name(root, name, as)
		p.unname(root, name)
		return nil
	})
}

// name gives a file another name.
func (p *Process) name(root *os.Root, name, as string) {
	from, base := p.disk.entry(root, name)
	to, last := p.disk.entry(root, as)
	to.names[last], to.author[last] = from.names[base], p
}

// unname removes a name.
func (p *Process) unname(root *os.Root, name string) {
	dir, base := p.disk.entry(root, name)
	delete(dir.names, base)
	dir.author[base] = p
}

// Remove implements [file.Disk].
func (p *Process) Remove(root *os.Root, name string) error {
	return p.do("remove", filepath.Join(root.Name(), name), func() error {
		if err := (file.System{}).Remove(root, name); err != nil {
			return err
		}
		p.unname(root, name)
		return nil
	})
}
