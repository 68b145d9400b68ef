package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Mechanisms of SASL.
const (
	mechanismPlain  = "PLAIN"
	mechanismSHA256 = "SCRAM-SHA-256"
	mechanismSHA512 = "SCRAM-SHA-512"
	mechanismOAuth  = "OAUTHBEARER"
	mechanismAWS    = "AWS_MSK_IAM"
)

var mechanisms = []string{mechanismPlain, mechanismSHA256, mechanismSHA512, mechanismOAuth, mechanismAWS}

// clientOpts returns the options with which a client reaches the cluster and says who it is. More may follow them.
func (c config) clientOpts() []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(c.Brokers...), kgo.ClientID("fusebox"), kgo.WithLogger(c.kafkaLogger())}
	if c.oneShot {
		opts = append(opts, kgo.DisableClientMetrics()) // A client's end waits for a broker to take the last of them.
	}
	return append(opts, c.connection...)
}

// connect returns the options for TLS and SASL, and all that is wrong with them.
func (c *config) connect() ([]kgo.Opt, configError) {
	var opts []kgo.Opt
	secure, faults := c.tls()
	if secure != nil {
		opts = append(opts, kgo.DialTLSConfig(secure))
	}
	mechanism, wrong := c.sasl()
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, append(faults, wrong...)
}

// usesTLS tells whether connections are encrypted.
func (c *config) usesTLS() bool {
	if c.TLSEnabled != nil {
		return *c.TLSEnabled
	}
	return c.namesTLS()
}

// namesTLS tells whether anything is said of how to encrypt.
func (c *config) namesTLS() bool {
	return c.TLSCA != "" || c.TLSCert != "" || c.TLSKey != "" || c.TLSServerName != ""
}

// tls returns the configuration of TLS, nil where it is off. The client's certificate is read again at every
// connection, as its files are renewed in a long life.
func (c *config) tls() (*tls.Config, configError) {
	var faults configError
	if c.TLSEnabled != nil && !*c.TLSEnabled && c.namesTLS() {
		faults.add("FUSEBOX_TLS_ENABLED=\"false\": want true, as other FUSEBOX_TLS_ variables are set")
	}
	if !c.usesTLS() {
		return nil, faults
	}
	secure := &tls.Config{ServerName: c.TLSServerName, MinVersion: tls.VersionTLS12}
	if c.TLSCA != "" {
		secure.RootCAs = x509.NewCertPool()
		pem, err := os.ReadFile(c.TLSCA)
		if err != nil {
			faults.add(fmt.Sprintf("FUSEBOX_TLS_CA=%q: want %s (%v)", c.TLSCA, fileWords, err))
		} else if !secure.RootCAs.AppendCertsFromPEM(pem) {
			faults.add(fmt.Sprintf("FUSEBOX_TLS_CA=%q: want a file with a certificate in PEM", c.TLSCA))
		}
	}
	if c.TLSCert == "" && c.TLSKey == "" {
		return secure, faults
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		return &pair, err
	}
	switch {
	case c.TLSKey == "":
		faults.add("FUSEBOX_TLS_KEY is not set; want the key of FUSEBOX_TLS_CERT")
	case c.TLSCert == "":
		faults.add("FUSEBOX_TLS_CERT is not set; want the certificate of FUSEBOX_TLS_KEY")
	default:
		if _, err := load(); err != nil {
			faults.add(fmt.Sprintf("FUSEBOX_TLS_CERT=%q, FUSEBOX_TLS_KEY=%q: want %s (%v)",
				c.TLSCert, c.TLSKey, "a certificate and its key in PEM", err))
		}
	}
	secure.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return secure, faults
}

// sasl returns the mechanism to log in by, nil where there is none.
func (c *config) sasl() (sasl.Mechanism, configError) {
	faults := c.missingForSASL()
	switch c.SASLMechanism {
	case mechanismPlain:
		return plain.Auth{User: c.SASLUser, Pass: string(c.SASLPassword)}.AsMechanism(), faults
	case mechanismSHA256:
		return scram.Auth{User: c.SASLUser, Pass: string(c.SASLPassword)}.AsSha256Mechanism(), faults
	case mechanismSHA512:
		return scram.Auth{User: c.SASLUser, Pass: string(c.SASLPassword)}.AsSha512Mechanism(), faults
	case mechanismOAuth:
		return oauth.Oauth(c.bearer()), faults
	case mechanismAWS:
		return aws.ManagedStreamingIAM(c.awsKey()), faults
	}
	return nil, faults
}

// missingForSASL finds what the mechanism needs and is not there.
func (c *config) missingForSASL() configError {
	var faults configError
	need := func(there bool, name, whatFor string) {
		if !there {
			faults.add(name + " is not set; " + whatFor + " needs it")
		}
	}
	mechanism := "FUSEBOX_SASL_MECHANISM=" + c.SASLMechanism
	hasPassword := c.SASLPassword != "" || c.SASLPasswordFile != ""
	switch c.SASLMechanism {
	case "":
		given := c.SASLUser != "" || c.SASLPassword != "" || c.SASLToken != "" || c.SASLTokenEndpoint != ""
		if given {
			faults.add("FUSEBOX_SASL_MECHANISM is not set; want " + variables["FUSEBOX_SASL_MECHANISM"].want +
				", as other FUSEBOX_SASL_ variables are set")
		}
	case mechanismPlain, mechanismSHA256, mechanismSHA512:
		need(c.SASLUser != "", "FUSEBOX_SASL_USER", mechanism)
		need(hasPassword, "FUSEBOX_SASL_PASSWORD", mechanism)
	case mechanismOAuth:
		if c.SASLTokenEndpoint != "" {
			need(c.SASLUser != "", "FUSEBOX_SASL_USER", "FUSEBOX_SASL_TOKEN_ENDPOINT")
			need(hasPassword, "FUSEBOX_SASL_PASSWORD", "FUSEBOX_SASL_TOKEN_ENDPOINT")
		} else if c.SASLToken == "" && c.SASLTokenFile == "" {
			faults.add("FUSEBOX_SASL_TOKEN_ENDPOINT is not set; want it, or FUSEBOX_SASL_TOKEN, for " + mechanism)
		}
	case mechanismAWS:
		need(c.usesTLS(), "FUSEBOX_TLS_ENABLED=true", mechanism)
		if c.SASLUser != "" {
			need(hasPassword, "FUSEBOX_SASL_PASSWORD", "FUSEBOX_SASL_USER as a key id")
		}
	}
	return faults
}
