package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/component-base/version"
)

const startLimit = 3 * time.Minute

// plane is a running control plane. Its folder has ca.pem, tokens.csv (kube-apiserver's
// form), kubeconfig (admin), log/PART.log and pods/, where kwok finds logs.
type plane struct {
	dir   string
	ca    *authority
	store *store
	port  int
	kwok  int
	extra []string // flags of kube-apiserver
	token map[string]string

	ending atomic.Bool

	mu   sync.Mutex
	part map[string]*exec.Cmd
	gone map[string]chan error
}

// Who is known by a token of its own; others come by webhooks or certificates.
var users = []struct{ name, groups string }{
	{"admin", "system:masters"},
	{"nobody", ""},
}

func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func (p *plane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *plane) url() string { return fmt.Sprintf("https://127.0.0.1:%d", p.port) }

func (p *plane) writeKubeconfig(name, token string) error {
	type named map[string]any
	return writeJSON(p.path(name), named{
		"apiVersion": "v1", "kind": "Config", "current-context": "control",
		"clusters": []named{{"name": "control", "cluster": named{
			"server": p.url(), "certificate-authority": p.path("ca.pem")}}},
		"users": []named{{"name": "control", "user": named{"token": token}}},
		"contexts": []named{{"name": "control", "context": named{
			"cluster": "control", "user": "control"}}},
	})
}

func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func (p *plane) prepare() error {
	for _, d := range []string{"log", "pods"} {
		if err := os.MkdirAll(p.path(d), 0o700); err != nil {
			return err
		}
	}
	var err error
	if p.ca, err = newAuthority(p.dir); err != nil {
		return err
	}
	for _, name := range []string{"apiserver", "kubelet"} {
		if err := p.ca.issue(name); err != nil {
			return err
		}
	}
	if err := p.ca.issue("front-proxy"); err != nil {
		return err
	}
	if err := p.ca.issue("apiserver-kubelet", "system:masters"); err != nil {
		return err
	}
	if _, err := newKey(p.path("accounts.key")); err != nil {
		return err
	}
	var csv strings.Builder
	p.token = map[string]string{}
	for _, u := range users {
		if p.token[u.name], err = newToken(); err != nil {
			return err
		}
		fmt.Fprintf(&csv, "%s,%s,%s,%q\n", p.token[u.name], u.name, u.name, u.groups)
	}
	if err := os.WriteFile(p.path("tokens.csv"), []byte(csv.String()), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(p.path("kwok.yaml"), kwokConfig(p.path("pods")), 0o600); err != nil {
		return err
	}
	return p.writeKubeconfig("kubeconfig", p.token["admin"])
}

func (p *plane) start(name string, args ...string) error {
	log, err := os.OpenFile(p.path("log/"+name+".log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, append([]string{name}, args...)...)
	c.Stdout, c.Stderr = log, log
	c.Dir = p.dir
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() {
		end := c.Wait()
		log.Close()
		gone <- end
		// As a kubelet would: a controller that lost its API server gives up at times.
		if name != "kube-apiserver" && !p.ending.Load() {
			time.Sleep(time.Second)
			_ = p.start(name, args...)
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part[name], p.gone[name] = c, gone
	return nil
}

func (p *plane) stop(name string, sig syscall.Signal) {
	p.mu.Lock()
	c, gone := p.part[name], p.gone[name]
	p.mu.Unlock()
	if c == nil {
		return
	}
	_ = c.Process.Signal(sig)
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		_ = c.Process.Kill()
		<-gone
	}
}

func (p *plane) startServer() error {
	args := []string{
		"--etcd-servers=" + p.store.url,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.port),
		"--tls-cert-file=" + p.path("apiserver.pem"),
		"--tls-private-key-file=" + p.path("apiserver.key"),
		"--client-ca-file=" + p.path("ca.pem"),
		"--token-auth-file=" + p.path("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=" + p.url(),
		"--service-account-key-file=" + p.path("accounts.key"),
		"--service-account-signing-key-file=" + p.path("accounts.key"),
		"--service-cluster-ip-range=172.20.0.0/16",
		"--endpoint-reconciler-type=none",
		"--kubelet-certificate-authority=" + p.path("ca.pem"),
		"--kubelet-client-certificate=" + p.path("apiserver-kubelet.pem"),
		"--kubelet-client-key=" + p.path("apiserver-kubelet.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + p.path("ca.pem"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.path("front-proxy.pem"),
		"--proxy-client-key-file=" + p.path("front-proxy.key"),
		"--enable-aggregator-routing=true",
		"--profiling=false",
		"--audit-policy-file=" + p.path("audit.yaml"),
		"--audit-log-path=" + p.path("log/audit.log"),
		"--event-ttl=1h",
	}
	policy := []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n" +
		"omitStages: [RequestReceived]\n")
	if err := os.WriteFile(p.path("audit.yaml"), policy, 0o600); err != nil {
		return err
	}
	return p.start("kube-apiserver", append(args, p.extra...)...)
}

func (p *plane) startControllers() error {
	conf := p.path("kubeconfig")
	err := p.start("kube-controller-manager",
		"--kubeconfig="+conf, "--authentication-kubeconfig="+conf,
		"--authorization-kubeconfig="+conf, "--secure-port=0", "--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+p.path("accounts.key"),
		"--root-ca-file="+p.path("ca.pem"),
		"--cluster-signing-cert-file="+p.path("ca.pem"),
		"--cluster-signing-key-file="+p.path("ca.key"),
		"--pvclaimbinder-sync-period=2s", "--profiling=false")
	if err != nil {
		return err
	}
	err = p.start("kube-scheduler",
		"--kubeconfig="+conf, "--authentication-kubeconfig="+conf,
		"--authorization-kubeconfig="+conf, "--secure-port=0", "--leader-elect=false",
		"--profiling=false")
	if err != nil {
		return err
	}
	return p.start("kwok", "--kubeconfig="+conf, "--config="+p.path("kwok.yaml"),
		"--manage-all-nodes=true", "--enable-crds=Logs", "--node-ip=127.0.0.1",
		fmt.Sprintf("--node-port=%d", p.kwok),
		fmt.Sprintf("--server-address=127.0.0.1:%d", p.kwok),
		"--tls-cert-file="+p.path("kubelet.pem"),
		"--tls-private-key-file="+p.path("kubelet.key"),
		"--node-lease-duration-seconds=40")
}

func (p *plane) client() *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(p.ca.cert)
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		DisableKeepAlives: true,
	}}
}

// ready waits until /readyz says ok.
func (p *plane) ready(ctx context.Context) error {
	client := p.client()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url()+"/readyz", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token["admin"])
	for {
		got, err := client.Do(req)
		if err == nil {
			text, _ := io.ReadAll(got.Body)
			got.Body.Close()
			if got.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("/readyz answers %d: %s", got.StatusCode, text)
		}
		p.mu.Lock()
		gone := p.gone["kube-apiserver"]
		p.mu.Unlock()
		select {
		case end := <-gone:
			gone <- end
			return fmt.Errorf("kube-apiserver has ended: %v; see %s", end,
				p.path("log/kube-apiserver.log"))
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func say(v map[string]any) {
	text, _ := json.Marshal(v)
	fmt.Println(string(text))
}

// command does what a line of standard input asks, and answers by a line.
func (p *plane) command(ctx context.Context, line string) {
	answer := map[string]any{"did": line}
	var err error
	switch line {
	case "compact":
		answer["revision"], err = p.store.compact(ctx)
	case "restart kube-apiserver":
		p.stop("kube-apiserver", syscall.SIGKILL)
		if err = p.startServer(); err == nil {
			err = p.ready(ctx)
		}
	default:
		err = fmt.Errorf("commands: compact, restart kube-apiserver")
	}
	if err != nil {
		answer["error"] = err.Error()
	}
	say(answer)
}

// serve ends when standard input does, or by a signal.
func (p *plane) serve(ctx context.Context, lines <-chan string) error {
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return nil
			}
			p.command(ctx, line)
		case <-ctx.Done():
			return nil
		}
	}
}

func readLines() <-chan string {
	lines := make(chan string)
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			lines <- strings.TrimSpace(in.Text())
		}
		close(lines)
	}()
	return lines
}

// run starts everything, prints one line of JSON that says where it is, and serves:
//
//	{"url", "ca" (file), "token", "nobody" (a token without rights), "kubeconfig",
//	 "pods" (folder of logs), "version"}
func run(args []string) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder of this run; made when it is not there")
	port := flags.Int("port", 0, "of the API server; 0: any that is free")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		return fmt.Errorf("--dir is missing")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	at, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	p := &plane{dir: at, port: *port, kwok: ports[1], extra: flags.Args(),
		part: map[string]*exec.Cmd{}, gone: map[string]chan error{}}
	if p.port == 0 {
		p.port = ports[0]
	}
	if err := p.prepare(); err != nil {
		return err
	}
	if p.store, err = openStore(p.path("etcd"), p.path("log/etcd.log"), ports[2], ports[3]); err != nil {
		return err
	}
	defer p.store.etcd.Close()
	defer func() {
		p.ending.Store(true)
		for _, name := range []string{"kwok", "kube-scheduler", "kube-controller-manager",
			"kube-apiserver"} {
			p.stop(name, syscall.SIGKILL)
		}
	}()
	if err := p.startServer(); err != nil {
		return err
	}
	limited, done := context.WithTimeout(ctx, startLimit)
	defer done()
	if err := p.ready(limited); err != nil {
		return err
	}
	if err := p.addLogsKind(limited, p.client()); err != nil {
		return err
	}
	if err := p.startControllers(); err != nil {
		return err
	}
	say(map[string]any{"url": p.url(), "ca": p.path("ca.pem"), "token": p.token["admin"],
		"nobody": p.token["nobody"], "kubeconfig": p.path("kubeconfig"),
		"pods": p.path("pods"), "version": version.Get().GitVersion})
	return p.serve(ctx, readLines())
}
