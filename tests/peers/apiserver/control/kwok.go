package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/kustomize/crd"
	nodes "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	pods "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// As kwok's own cmd/kwok/main.go.
func kwok() error {
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}

	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return err
	}
	command := cmd.NewCommand(ctx)
	// The Kubernetes programs have registered a --version of another type.
	command.Version = ""
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}

// Nodes become ready and pods run at once; a pod of a Job completes. Every container's
// log is DIR/default.log (in the form of CRI), unless a Logs object says otherwise.
func kwokConfig(dir string) []byte {
	return []byte(strings.Join([]string{
		nodes.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease,
		pods.DefaultPodReady, pods.DefaultPodComplete, pods.DefaultPodDelete,
		fmt.Sprintf("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: ClusterLogs\n"+
			"metadata: {name: default}\nspec: {logs: [{logsFile: %q, follow: true}]}\n",
			dir+"/default.log"),
	}, "\n---\n"))
}

// addLogsKind lets objects of kind Logs (kwok.x-k8s.io) name a pod's log files.
func (p *plane) addLogsKind(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		p.url()+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		bytes.NewReader(crd.Logs))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/yaml")
	req.Header.Set("Authorization", "Bearer "+p.token["admin"])
	got, err := client.Do(req)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusCreated {
		return fmt.Errorf("the kind Logs is not taken: %s", got.Status)
	}
	return nil
}
