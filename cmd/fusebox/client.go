package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// defaultBroker is where `fusebox dev` listens unless told otherwise, and where the tools look unless told otherwise.
const defaultBroker = "127.0.0.1:9092"

// brokersHelp tells in the help of a tool where it looks for Kafka.
const brokersHelp = "Kafka is where FUSEBOX_BROKERS says, by default " + defaultBroker +
	", where 'fusebox dev' listens. The other variables are those of 'fusebox run --help'."

// reachTimeout is how long a tool waits for the first answer of a broker.
const reachTimeout = 5 * time.Second

// loadToolConfig is loadClusterConfig for every command but run and topics, which work on a cluster: without
// FUSEBOX_BROKERS the others look where `fusebox dev` listens.
func loadToolConfig() (config, error) {
	c, faults := readConfig(environment())
	if len(c.Brokers) == 0 && !faults.names("FUSEBOX_BROKERS") {
		c.Brokers = []string{defaultBroker}
	}
	connection, wrong := c.connect()
	c.connection, c.oneShot = connection, true
	return c, append(faults, wrong...).err()
}

// dial returns a client that has spoken with a broker, and knows that the topics are there.
func (c config) dial(ctx context.Context, topics []string, opts ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(c.clientOpts(), opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make a Kafka client: %w", err)
	}
	if err := c.find(ctx, client, topics); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// find makes sure that a broker answers and has the topics.
func (c config) find(ctx context.Context, client *kgo.Client, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	found, err := kadm.NewClient(client).ListTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("no answer from a broker at %s (FUSEBOX_BROKERS; `fusebox dev` starts one): %w",
			strings.Join(c.Brokers, ", "), err)
	}
	for _, topic := range topics {
		if err := found[topic].Err; err != nil {
			return fmt.Errorf("topic %s at %s: %w; `fusebox topics create` makes the topics",
				topic, strings.Join(c.Brokers, ", "), err)
		}
	}
	return nil
}
