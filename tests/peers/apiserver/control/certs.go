package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const day = 24 * time.Hour

// authority signs the certificates of one run.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(path, "EC PRIVATE KEY", der)
}

func template(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-day),
		NotAfter:     time.Now().Add(2 * day),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}, err
}

func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	t, err := template("instantstart test authority")
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign
	if a.key, err = newKey(a.path("ca.key")); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, writePEM(a.path("ca.pem"), "CERTIFICATE", der)
}

// issue writes NAME.pem and NAME.key, good for a server on loopback and as a client.
func (a *authority) issue(name string, groups ...string) error {
	t, err := template(name)
	if err != nil {
		return err
	}
	t.Subject.Organization = groups
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	t.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
		x509.ExtKeyUsageClientAuth}
	key, err := newKey(a.path(name + ".key"))
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePEM(a.path(name+".pem"), "CERTIFICATE", der)
}

func newToken() (string, error) {
	raw := make([]byte, 24)
	_, err := rand.Read(raw)
	return hex.EncodeToString(raw), err
}
