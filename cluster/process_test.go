package cluster_test

import (
	"context"
	"encoding/json"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
)

// The tests run one member in their own process and the others in processes of the same binary. A process can be killed
// and paused, and two members in one process trip the race detector, because protoactor sets gRPC's global logger
// whenever remoting starts.

// TestMain runs a member if a test asks for one.
func TestMain(m *testing.M) {
	if spec := os.Getenv("DIVAN_TEST_MEMBER"); spec != "" {
		if err := runMember(spec); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// memberSpec is what a test specifies about a member process.
type memberSpec struct {
	Name, Gossip, Secret string
	AcceptSecrets, Join  []string
	Store                string
	ProbeInterval        time.Duration // 0 means that of options
	AnnounceWithin       time.Duration // 0 means the default
}

// start starts the member.
func (s *memberSpec) start(ctx context.Context, o cluster.Options) (*cluster.Cluster, error) {
	o.Gossip, o.Secret, o.AcceptSecrets, o.Join, o.Store = s.Gossip, s.Secret, s.AcceptSecrets, s.Join, s.Store
	if s.ProbeInterval != 0 {
		o.ProbeInterval = s.ProbeInterval
	}
	c, err := cluster.Start(ctx, o)
	if err == nil && s.AnnounceWithin != 0 {
		c.SetAnnounceWithin(s.AnnounceWithin)
	}
	return c, err
}

// runMember runs a member that answers calls of its parent over standard input and output until these end.
func runMember(text string) error {
	var s memberSpec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	o := options(nil, s.Name)
	inbox, said, happened := &inbox{}, &loud{}, &happenings{}
	o.Receive, o.Logger, o.Answer, o.Notify = inbox.add, said.logger(), answerTests, happened.add
	c, err := s.start(context.Background(), o)
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	stop := sync.OnceValue(c.Stop)
	if err := server.RegisterName("Member", &Calls{c, inbox, said, happened, stop}); err != nil {
		return err
	}
	server.ServeConn(stdio{os.Stdin, os.Stdout})
	return stop()
}

type stdio struct {
	io.ReadCloser
	io.WriteCloser
}

func (s stdio) Close() error {
	s.ReadCloser.Close()
	return s.WriteCloser.Close()
}

// Calls are the calls that a test makes to a member process.
type Calls struct {
	c        *cluster.Cluster
	inbox    *inbox
	said     *loud
	happened *happenings
	stop     func() error
}

// Stop stops the member and returns what it has logged above info.
func (k *Calls) Stop(_ int, said *string) error {
	err := k.stop()
	*said = k.said.String()
	return err
}

// inbox has what a member has received, as "from: message".
type inbox struct {
	mu  sync.Mutex
	all []string
}

func (b *inbox) add(from string, message []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, from+": "+string(message))
}

func (b *inbox) list() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// happenings has the events of a member.
type happenings struct {
	mu  sync.Mutex
	all []cluster.Event
}

func (h *happenings) add(e cluster.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

// Events returns what has happened.
func (k *Calls) Events(_ int, answer *[]cluster.Event) error {
	k.happened.mu.Lock()
	defer k.happened.mu.Unlock()
	*answer = slices.Clone(k.happened.all)
	return nil
}

// Send sends a message to another member.
func (k *Calls) Send(to [2]string, _ *int) error {
	k.c.Send(to[0], []byte(to[1]))
	return nil
}

// Request asks another member and returns its answer.
func (k *Calls) Request(to [2]string, answer *string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	got, err := k.c.Request(ctx, to[0], []byte(to[1]))
	*answer = string(got)
	return err
}

// Drain calls Cluster.Drain.
func (k *Calls) Drain(int, *int) error {
	k.c.Drain()
	return nil
}

// Inbox returns what the member has received.
func (k *Calls) Inbox(_ int, answer *[]string) error {
	*answer = k.inbox.list()
	return nil
}

// Members calls Cluster.Members.
func (k *Calls) Members(_ int, answer *[]cluster.Member) error {
	*answer = k.c.Members()
	return nil
}

// Degraded calls Cluster.Degraded.
func (k *Calls) Degraded(_ int, answer *[]string) error {
	*answer = k.c.Degraded()
	return nil
}

// Owners returns the owners' names of many ids.
func (k *Calls) Owners(ids []string, answer *[]string) error {
	*answer = owners(k.c, ids)
	return nil
}

func owners(c *cluster.Cluster, ids []string) (names []string) {
	for _, id := range ids {
		names = append(names, c.Owner("echo", id).Name)
	}
	return names
}

// process is a member in a process of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	client *rpc.Client
}

// startProcess starts a member that is killed at the end of the test at the latest.
func startProcess(t *testing.T, s memberSpec) *process {
	t.Helper()
	if s.Gossip == "" {
		s.Gossip = "127.0.0.1:0"
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "DIVAN_TEST_MEMBER="+string(spec))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, client: rpc.NewClient(stdio{out, in})}
	t.Cleanup(func() {
		p.signal(continueSignal)
		p.kill()
	})
	p.Members() // waits until it has started
	return p
}

func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// stop stops the member regularly.
func (p *process) stop() {
	p.t.Helper()
	p.client.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Error("a member did not stop cleanly: ", err)
	}
}

func (p *process) call(method string, argument, answer any) error {
	return p.client.Call("Member."+method, argument, answer)
}

// Members calls Cluster.Members in that process.
func (p *process) Members() (m []cluster.Member) {
	p.t.Helper()
	if err := p.call("Members", 0, &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// Degraded calls Cluster.Degraded in that process.
func (p *process) Degraded() (reasons []string) {
	p.t.Helper()
	if err := p.call("Degraded", 0, &reasons); err != nil {
		p.t.Fatal(err)
	}
	return reasons
}

// events returns what has happened in the view of that process.
func (p *process) events() (all []cluster.Event) {
	p.t.Helper()
	if err := p.call("Events", 0, &all); err != nil {
		p.t.Fatal(err)
	}
	return all
}

// Addr returns the gossip address of that process.
func (p *process) Addr() string {
	p.t.Helper()
	for _, m := range p.Members() {
		if m.Self {
			return m.Gossip
		}
	}
	p.t.Fatal("a member does not list itself")
	return ""
}

func (p *process) owners(ids []string) (names []string) {
	p.t.Helper()
	if err := p.call("Owners", ids, &names); err != nil {
		p.t.Fatal(err)
	}
	return names
}
