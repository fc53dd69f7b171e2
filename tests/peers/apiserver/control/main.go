// Command control is a Kubernetes control plane in one binary: the real
// kube-apiserver, kube-controller-manager and kube-scheduler with an etcd of their own,
// and kwok, which plays nodes and pods. All of it listens on loopback only.
//
//	control run --dir DIR …    everything; see run.go
//	control kube-apiserver …   one part, as the program of that name
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var parts = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": manager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: %s run --dir DIR [-- flags of kube-apiserver]\n",
			filepath.Base(os.Args[0]))
		os.Exit(2)
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	if part, ok := parts[name]; ok {
		os.Exit(cli.Run(part()))
	}
	var err error
	switch name {
	case "run":
		err = run(os.Args[1:])
	case "kwok":
		err = kwok()
	default:
		err = fmt.Errorf("no such part: %s", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "control:", err)
		os.Exit(1)
	}
}
