package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fusebox-project/fusebox/breaker"
	"github.com/fusebox-project/fusebox/client"
)

// A gateway in production: it is ready once it knows every circuit, and leaves in an order that loses nothing.
func Example_production() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	opening, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	gate, err := client.Open(opening, client.Config{
		Brokers:   strings.Split(os.Getenv("FUSEBOX_BROKERS"), ","),
		Router:    os.Getenv("HOSTNAME"), // The pod's name. No two processes may have the same.
		OnSilence: client.Keep,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !gate.Stats().Ready { // It stays ready when the brokers are away.
			http.Error(w, "the circuits are not known yet", http.StatusServiceUnavailable)
		}
	})
	routes.HandleFunc("GET /debug/fusebox", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(gate.Stats())
	})
	server := &http.Server{Addr: ":8090", Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		fmt.Println(server.ListenAndServe())
		stop()
	}()
	<-ctx.Done()
	closing, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := server.Shutdown(closing); err != nil { // 1. No new calls; those under way end, and are reported.
		fmt.Println(err)
	}
	if err := gate.Close(); err != nil { // 2. Leases go back, and what was reported is sent: 5 s at most.
		fmt.Println(err)
	}
}

// Policies of a file: for a program that works without Kafka, or that must not wait for what the processors publish.
func ExampleConfig_policies() {
	text, err := os.ReadFile("policies.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	policies, err := breaker.Read("policies.yaml", text)
	if err != nil {
		fmt.Println(err) // All that is wrong with the file, by line and column.
		return
	}
	local := client.Local(policies)             // All of it in one process, or
	config := client.Config{Policies: policies} // routes from the file, states from Kafka.
	fmt.Println(local.Policies().Version == config.Policies.Version)
}
