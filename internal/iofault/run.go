//go:build linux && amd64

package iofault

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// Run runs a command to its end. Its input and output have to be files, or nil.
// When ctx ends, the command is killed.
func Run(ctx context.Context, cmd *exec.Cmd, plan Plan) (*Outcome, error) {
	type result struct {
		o   *Outcome
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // all calls about a process must come from one thread, which then ends
		o, err := trace(ctx, cmd, plan)
		done <- result{o, err}
	}()
	r := <-done
	return r.o, r.err
}

// Available fails if this system does not let one process trace another.
func Available() error {
	o, err := Run(context.Background(), exec.Command("/bin/true"), Plan{})
	if err == nil && !o.Status.Exited() {
		err = fmt.Errorf("a traced process ended by %v", o.Status.Signal())
	}
	if err != nil {
		return fmt.Errorf("system calls cannot be traced here: %w", err)
	}
	return nil
}

func trace(ctx context.Context, cmd *exec.Cmd, plan Plan) (*Outcome, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	defer cmd.Process.Release()
	defer context.AfterFunc(ctx, func() { syscall.Kill(pid, syscall.SIGKILL) })()
	t := &tracer{pid: pid, plan: plan, failing: map[int]syscall.Errno{}}
	if err := t.run(); err != nil {
		syscall.Kill(pid, syscall.SIGKILL)
		return nil, fmt.Errorf("trace %s: %w", cmd, err)
	}
	return &t.Outcome, context.Cause(ctx)
}

// tracer follows the threads of one process.
type tracer struct {
	Outcome
	pid     int
	plan    Plan
	seen    int                   // calls that the fault fits
	failing map[int]syscall.Errno // by the thread whose call was suppressed
}

func (t *tracer) run() error {
	const options = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEFORK |
		syscall.PTRACE_O_TRACEVFORK | syscall.PTRACE_O_TRACEEXEC | ptraceExitKill
	tid, status, err := t.wait()
	if err != nil || tid != t.pid || !status.Stopped() {
		return fmt.Errorf("it did not start: %v", err)
	}
	if err := syscall.PtraceSetOptions(t.pid, options); err != nil {
		return err
	}
	for deliver := 0; ; {
		// A thread that was killed meanwhile cannot continue; its end is waited for.
		if err := syscall.PtraceSyscall(tid, deliver); err != nil && err != syscall.ESRCH {
			return err
		}
		for {
			if tid, status, err = t.wait(); err != nil {
				return err
			}
			if status.Stopped() {
				break
			}
			if tid == t.pid {
				t.Status = status
				return nil
			}
		}
		deliver = 0
		switch sig := status.StopSignal(); {
		case sig == syscall.SIGTRAP|0x80:
			if err := t.call(tid); err != nil && err != syscall.ESRCH {
				return err
			}
		case sig == syscall.SIGTRAP || sig == syscall.SIGSTOP: // a new thread, or an exec
		default:
			deliver = int(sig)
		}
	}
}

// wait waits for a thread of the process to stop or end. The process has a group of its own,
// so that other children of this program are left alone, also those of the same thread.
func (t *tracer) wait() (int, syscall.WaitStatus, error) {
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-t.pid, &status, syscall.WALL|syscall.WNOTHREAD, nil)
		if err != syscall.EINTR {
			return tid, status, err
		}
	}
}

// call inspects a call that begins or returns, and changes it.
func (t *tracer) call(tid int) error {
	info, err := callInfo(tid)
	if err != nil {
		return err
	}
	if info.op == opExit {
		return t.returns(tid)
	}
	if info.op != opEntry {
		return nil
	}
	call, ok := read(tid, info.nr, info.args)
	if !ok || !t.plan.counts(call) {
		return nil
	}
	t.Calls = append(t.Calls, call)
	if !t.plan.Fault.Fits(call.Effect) {
		return t.fail(tid, call, false)
	}
	t.seen++
	if t.seen != t.plan.Call {
		return t.fail(tid, call, false)
	}
	t.Reached = true
	switch t.plan.Fault {
	case Kill:
		return syscall.Kill(t.pid, syscall.SIGKILL)
	case Short:
		return halve(tid)
	}
	return t.fail(tid, call, true)
}

// fail suppresses a call if the plan says so.
func (t *tracer) fail(tid int, call Call, first bool) error {
	if !t.Reached {
		return nil
	}
	errno := t.plan.Fault.errno(call.Effect, first)
	if errno == 0 {
		return nil
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Orig_rax = ^uint64(0) // no call has this number
	t.failing[tid] = errno
	return syscall.PtraceSetRegs(tid, &regs)
}

// halve lets a write do the first half of what it should.
func halve(tid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Rdx /= 2
	return syscall.PtraceSetRegs(tid, &regs)
}

func (t *tracer) returns(tid int) error {
	errno, ok := t.failing[tid]
	if !ok {
		return nil
	}
	delete(t.failing, tid)
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Rax = uint64(-int64(errno))
	return syscall.PtraceSetRegs(tid, &regs)
}

// info is the kernel's struct ptrace_syscall_info, as far as entries go.
type info struct {
	op   uint8
	_    [3]byte
	_    uint32
	_, _ uint64
	nr   uint64
	args [6]uint64
}

const (
	opEntry = 1
	opExit  = 2
)

func callInfo(tid int) (info, error) {
	var i info
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(tid), unsafe.Sizeof(i), uintptr(unsafe.Pointer(&i)), 0, 0)
	if errno != 0 {
		return i, errno
	}
	return i, nil
}
