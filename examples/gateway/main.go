// Command gateway is an HTTP gateway in front of models that can answer HTTP 200 and still be wrong. Each answer is
// judged, a route that has stopped giving usable answers is left alone, and the question goes where the policy says for
// the cause. Where nobody is left it answers 503, why, and when to come back:
//
//	fusebox dev --policy examples/policies.yaml
//	go run ./examples/model
//	go run ./examples/gateway
//	curl -d '{"question": "What is the policy number?"}' 127.0.0.1:8090/ask
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fusebox-project/fusebox/client"
	"github.com/fusebox-project/fusebox/schemas"
)

const useCase = "submission-extraction"

const (
	callTime     = 10 * time.Second // The longest that a model may take.
	questionTime = 20 * time.Second // The longest that all models of a question may take.
)

// gateway asks models, and a gate before that.
type gateway struct {
	gate  client.Breaker
	model string // Where the models are.
}

// answer is what a model says, and the circuit that it came through.
type answer struct {
	Text    string   `json:"text"`
	Sources []string `json:"sources"`
	Circuit string   `json:"circuit"`
}

func main() {
	brokers := flag.String("brokers", cmp.Or(os.Getenv("FUSEBOX_BROKERS"), "127.0.0.1:9092"),
		"`addresses` of Kafka brokers, separated by commas; the default is FUSEBOX_BROKERS")
	addr := flag.String("addr", "127.0.0.1:8090", "`address` to listen on")
	model := flag.String("model", "http://127.0.0.1:8091", "`URL` of the models")
	name := flag.String("name", "", "`name` of this gateway among all; no two may have the same")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, client.Config{Brokers: strings.Split(*brokers, ","), Router: *name}, *addr, *model); err != nil {
		log.Fatal(err)
	}
}

// run serves until the context ends. Questions under way get their answers then, and what was reported is sent: that
// takes questionTime at most, and the 5 seconds of Close.
func run(ctx context.Context, c client.Config, addr, model string) (err error) {
	opening, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	gate, err := client.Open(opening, c) // Waits until every circuit is known.
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gate.Close()) }()
	go tell(gate.Changes(ctx)) // Until the gate is closed.

	g := &gateway{gate: gate, model: model}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /ask", g.ask)
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Print("the gateway answers at http://", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), questionTime)
	defer cancel()
	return server.Shutdown(closing)
}

// tell logs what becomes of the circuits, and why.
func tell(changes func(func(schemas.State) bool)) {
	for s := range changes {
		switch because := s.Because(); {
		case s.State == schemas.HalfOpen && len(s.Leases) > 0:
			log.Printf("%s is being tested by %s", s.Circuit, s.Leases[0].Holder)
		case because != "":
			log.Printf("%s is %v: %s", s.Circuit, s.State, because)
		default:
			log.Printf("%s is %v", s.Circuit, s.State)
		}
	}
}

// ask answers a question by way of the first route of the use case that gives a usable answer.
func (g *gateway) ask(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Question string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), questionTime)
	defer cancel()
	a, err := client.Fallback(ctx, g.gate, useCase, g.stages(asked.Question), judge)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // Who asked has gone.
}

// stages returns how to call each circuit that the policies in force have a way to.
func (g *gateway) stages(question string) map[string]client.Stage[answer] {
	stages := make(map[string]client.Stage[answer])
	for _, route := range g.gate.Routes() {
		lists := slices.Collect(maps.Values(route.ByCause))
		for _, circuit := range slices.Concat(append(lists, route.Chain)...) {
			stages[circuit] = client.Stage[answer]{Call: func(ctx context.Context) (answer, error) {
				return g.call(ctx, circuit, question)
			}}
		}
	}
	return stages
}

// call asks the model of a circuit, which is the circuit's name behind the use case. An error is a transport_failure,
// unless it says what else it is: here, how long the provider asks to wait.
func (g *gateway) call(ctx context.Context, circuit, question string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	body, err := json.Marshal(map[string]string{
		"model": strings.TrimPrefix(circuit, useCase+":"), "question": question,
	})
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.model+"/answers", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return answer{}, &client.RejectedError{Err: errors.New(response.Status), Outcome: client.Outcome{
			Kind: client.TransportFailure, ReasonCode: strconv.Itoa(response.StatusCode),
			RetryAfter: time.Duration(seconds) * time.Second,
		}}
	}
	a := answer{Circuit: circuit}
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return a, &client.RejectedError{Err: err, Outcome: client.Outcome{
			Kind: client.InvalidContract, Stage: "parse",
		}}
	}
	return a, nil
}

// judge says what an answer was worth. This is what you write.
func judge(_ context.Context, a answer) (client.Outcome, error) {
	if len(a.Sources) == 0 {
		return client.Outcome{Kind: client.MissingEvidence, ReasonCode: "no_source", Stage: "retrieval"}, nil
	}
	return client.Outcome{Kind: client.Accepted}, nil
}

// refuse says what was tried, why in words, and when to come back.
func refuse(w http.ResponseWriter, err error) {
	problem := map[string]any{"title": "no usable answer", "status": 503, "detail": err.Error()}
	var failure *client.FallbackError
	if errors.As(err, &failure) {
		tried := make(map[string]string)
		for _, t := range failure.Tried {
			tried[t.Circuit] = t.Err.Error()
		}
		problem["tried"], problem["otherwise"] = tried, failure.Otherwise
		if failure.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(math.Ceil(failure.RetryAfter.Seconds())))
		}
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(problem) // Who asked has gone.
}
