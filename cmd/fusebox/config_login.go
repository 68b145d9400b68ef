package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// loginTimeout is how long whoever hands out tokens may take.
const loginTimeout = 10 * time.Second

// bearer returns what asks for a token at every login: from the endpoint, which is asked again only when the last
// token is about to expire, or from the file, which others renew, or the fixed one.
func (c *config) bearer() func(context.Context) (oauth.Auth, error) {
	if c.SASLTokenEndpoint == "" {
		token, file := c.SASLToken, c.SASLTokenFile
		return func(context.Context) (oauth.Auth, error) {
			if file == "" {
				return oauth.Auth{Token: string(token)}, nil
			}
			text, err := readSecret(file)
			if err != nil {
				return oauth.Auth{}, fmt.Errorf("read the token: %w", err)
			}
			return oauth.Auth{Token: string(text)}, nil
		}
	}
	endpoint := clientcredentials.Config{
		ClientID: c.SASLUser, ClientSecret: string(c.SASLPassword), TokenURL: c.SASLTokenEndpoint, Scopes: c.SASLScopes,
	}
	asking := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: loginTimeout})
	tokens := endpoint.TokenSource(asking)
	return func(context.Context) (oauth.Auth, error) {
		token, err := tokens.Token()
		if err != nil {
			return oauth.Auth{}, fmt.Errorf("ask %s for a token: %w", c.SASLTokenEndpoint, err)
		}
		return oauth.Auth{Token: token.AccessToken}, nil
	}
}

// awsKey returns what asks for an AWS key at every login: the one given, or else what the SDK finds where it usually
// looks (its own variables, a profile, a web identity, the instance's role), renewed by the SDK.
func (c *config) awsKey() func(context.Context) (aws.Auth, error) {
	if c.SASLUser != "" {
		key := aws.Auth{
			AccessKey: c.SASLUser, SecretKey: string(c.SASLPassword), SessionToken: string(c.SASLToken),
		}
		return func(context.Context) (aws.Auth, error) { return key, nil }
	}
	find := sync.OnceValues(func() (awssdk.Config, error) {
		return awsconfig.LoadDefaultConfig(context.Background())
	})
	return func(ctx context.Context) (aws.Auth, error) {
		ctx, cancel := context.WithTimeout(ctx, loginTimeout)
		defer cancel()
		found, err := find()
		if err != nil {
			return aws.Auth{}, fmt.Errorf("find the AWS configuration: %w", err)
		}
		key, err := found.Credentials.Retrieve(ctx)
		if err != nil {
			return aws.Auth{}, fmt.Errorf("find an AWS key: %w", err)
		}
		return aws.Auth{
			AccessKey: key.AccessKeyID, SecretKey: key.SecretAccessKey, SessionToken: key.SessionToken,
		}, nil
	}
}
