package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

// store is the etcd of the control plane; it runs in this process.
type store struct {
	etcd   *embed.Etcd
	client *clientv3.Client
	url    string
}

func openStore(dir, logFile string, port, peerPort int) (*store, error) {
	c := embed.NewConfig()
	at := func(port int) url.URL {
		return url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	}
	c.Dir = dir
	c.LogLevel = "warn"
	c.LogOutputs = []string{logFile}
	c.UnsafeNoFsync = true // nothing here outlives the run
	c.ListenClientUrls = []url.URL{at(port)}
	c.AdvertiseClientUrls = c.ListenClientUrls
	c.ListenPeerUrls = []url.URL{at(peerPort)}
	c.AdvertisePeerUrls = c.ListenPeerUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return nil, err
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("etcd is not ready after a minute")
	}
	u := at(port)
	return &store{etcd: etcd, client: v3client.New(etcd.Server), url: u.String()}, nil
}

// compact forgets all revisions before the newest one, as kube-apiserver does every
// five minutes: who comes with an older one is told 410.
func (s *store) compact(ctx context.Context) (int64, error) {
	got, err := s.client.Get(ctx, "compact")
	if err != nil {
		return 0, err
	}
	rev := got.Header.Revision
	_, err = s.client.Compact(ctx, rev, clientv3.WithCompactPhysical())
	return rev, err
}
