package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/fusebox-project/fusebox/internal/kafkatest"
)

func TestLogin(t *testing.T) {
	cluster := kafkatest.NewLoopback(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "ann", "plain secret"),
		kfake.Superuser("SCRAM-SHA-256", "ann", "scram secret"),
		kfake.Superuser("SCRAM-SHA-512", "ann", "scram secret"))
	for _, tt := range []struct {
		mechanism, password string
		in                  bool
	}{
		{"PLAIN", "plain secret", true},
		{"plain", "plain secret", true},
		{"SCRAM-SHA-256", "scram secret", true},
		{"SCRAM-SHA-512", "scram secret", true},
		{"SCRAM-SHA-512", "plain secret", false},
	} {
		c, faults := readConfig(map[string]string{
			"FUSEBOX_BROKERS":        strings.Join(cluster.Seeds, ","),
			"FUSEBOX_SASL_MECHANISM": tt.mechanism, "FUSEBOX_SASL_USER": "ann", "FUSEBOX_SASL_PASSWORD": tt.password,
		})
		if err := ping(t, c, faults); (err == nil) != tt.in {
			t.Errorf("login by %s with the password %q: %v, want in: %v", tt.mechanism, tt.password, err, tt.in)
		}
	}
}

func TestTLS(t *testing.T) {
	authority := newAuthority(t)
	serverCert, serverKey := authority.issue(t, "localhost")
	server, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kafkatest.NewLoopback(t, kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.pool,
	}))
	cert, key := authority.issue(t, "client")
	full := map[string]string{
		"FUSEBOX_BROKERS": strings.Join(cluster.Seeds, ","), "FUSEBOX_TLS_CA": authority.file,
		"FUSEBOX_TLS_CERT": cert, "FUSEBOX_TLS_KEY": key, "FUSEBOX_TLS_SERVER_NAME": "localhost",
	}
	c, faults := readConfig(full)
	if err := ping(t, c, faults); err != nil {
		t.Errorf("with authority, certificate and key: %v, want an answer", err)
	}
	delete(full, "FUSEBOX_TLS_CA")
	c, faults = readConfig(full)
	if err := ping(t, c, faults); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("with the system's authorities: %v, want an unknown authority", err)
	}
}

func TestFaultsOfTheConnection(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		environment string
		want        string
	}{
		{"TLS_CA=/nowhere", `FUSEBOX_TLS_CA="/nowhere": want a file that can be read ` +
			`(open /nowhere: no such file or directory)`},
		{"TLS_CA=" + notPEM, fmt.Sprintf("FUSEBOX_TLS_CA=%q: want a file with a certificate in PEM", notPEM)},
		{"TLS_CERT=/c", "FUSEBOX_TLS_KEY is not set; want the key of FUSEBOX_TLS_CERT"},
		{"TLS_KEY=/k", "FUSEBOX_TLS_CERT is not set; want the certificate of FUSEBOX_TLS_KEY"},
		{"TLS_CERT=/c TLS_KEY=/k", `FUSEBOX_TLS_CERT="/c", FUSEBOX_TLS_KEY="/k": want a certificate and its key ` +
			`in PEM (open /c: no such file or directory)`},
		{"TLS_ENABLED=false TLS_SERVER_NAME=kafka",
			`FUSEBOX_TLS_ENABLED="false": want true, as other FUSEBOX_TLS_ variables are set`},
		{"SASL_USER=ann", "FUSEBOX_SASL_MECHANISM is not set; want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, " +
			"AWS_MSK_IAM, as other FUSEBOX_SASL_ variables are set"},
		{"SASL_MECHANISM=PLAIN", "FUSEBOX_SASL_USER is not set; FUSEBOX_SASL_MECHANISM=PLAIN needs it\n" +
			"FUSEBOX_SASL_PASSWORD is not set; FUSEBOX_SASL_MECHANISM=PLAIN needs it"},
		{"SASL_MECHANISM=OAUTHBEARER", "FUSEBOX_SASL_TOKEN_ENDPOINT is not set; want it, or FUSEBOX_SASL_TOKEN, for " +
			"FUSEBOX_SASL_MECHANISM=OAUTHBEARER"},
		{"SASL_MECHANISM=AWS_MSK_IAM",
			"FUSEBOX_TLS_ENABLED=true is not set; FUSEBOX_SASL_MECHANISM=AWS_MSK_IAM needs it"},
		{"SASL_MECHANISM=AWS_MSK_IAM TLS_ENABLED=true", ""},
		{"SASL_MECHANISM=OAUTHBEARER SASL_TOKEN=t", ""},
	} {
		environment := make(map[string]string)
		for variable := range strings.FieldsSeq(tt.environment) {
			name, value, _ := strings.Cut(variable, "=")
			environment["FUSEBOX_"+name] = value
		}
		c, faults := readConfig(environment)
		_, wrong := c.connect()
		if got := strings.Join(append(faults, wrong...), "\n"); got != tt.want {
			t.Errorf("faults of %s:\n%s\nwant:\n%s", tt.environment, got, tt.want)
		}
	}
}

func TestTokenFromEndpoint(t *testing.T) {
	asked := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		user, password, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"for %s by %s, to %s","token_type":"bearer","expires_in":3600}`,
			user, password, r.FormValue("scope"))
	}))
	defer endpoint.Close()
	c, faults := readConfig(map[string]string{
		"FUSEBOX_SASL_MECHANISM": "OAUTHBEARER", "FUSEBOX_SASL_TOKEN_ENDPOINT": endpoint.URL,
		"FUSEBOX_SASL_USER": "id", "FUSEBOX_SASL_PASSWORD": "secret", "FUSEBOX_SASL_SCOPES": "read,write",
	})
	if faults != nil {
		t.Fatal(faults)
	}
	login := c.bearer()
	for range 2 {
		auth, err := login(t.Context())
		if want := "for id by secret, to read write"; auth.Token != want || err != nil {
			t.Errorf("token = %q, %v; want %q", auth.Token, err, want)
		}
	}
	if asked != 1 {
		t.Errorf("the endpoint was asked %d times, want once while the token is good", asked)
	}
}

func TestTokenFileIsReadAtEveryLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	c, faults := readConfig(map[string]string{
		"FUSEBOX_SASL_MECHANISM": "OAUTHBEARER", "FUSEBOX_SASL_TOKEN_FILE": file,
	})
	if faults != nil {
		t.Fatal(faults)
	}
	login := c.bearer()
	for _, want := range []string{"first", "second"} {
		write(want)
		if auth, err := login(t.Context()); auth.Token != want || err != nil {
			t.Errorf("token = %q, %v; want %q", auth.Token, err, want)
		}
	}
}

func TestAWSKey(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "from the SDK")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "its secret")
	t.Setenv("AWS_SESSION_TOKEN", "its token")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	found, err := new(config).awsKey()(t.Context())
	if found.AccessKey != "from the SDK" || found.SecretKey != "its secret" || found.SessionToken != "its token" {
		t.Errorf("AWS key = %+v, %v; want what the SDK's variables say", found, err)
	}
	own := config{SASLUser: "own", SASLPassword: "its secret"}
	if given, err := own.awsKey()(t.Context()); given.AccessKey != "own" || given.SecretKey != "its secret" {
		t.Errorf("AWS key = %+v, %v; want the one of FUSEBOX_SASL_USER", given, err)
	}
}

// ping asks the brokers of a configuration for an answer.
func ping(t *testing.T, c config, faults configError) error {
	t.Helper()
	connection, wrong := c.connect()
	if faults = append(faults, wrong...); faults != nil {
		t.Fatal(faults)
	}
	client, err := kgo.NewClient(append(connection, kgo.SeedBrokers(c.Brokers...), kgo.RequestRetries(0))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return client.Ping(ctx)
}

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	file string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{cert: cert, key: key, pool: x509.NewCertPool(), file: writePEM(t, "CERTIFICATE", raw)}
	a.pool.AddCert(cert)
	return a
}

// issue returns the files of a certificate and its key.
func (a authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames:    []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	ownRaw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", raw), writePEM(t, "PRIVATE KEY", ownRaw)
}

func writePEM(t *testing.T, kind string, raw []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "it.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
