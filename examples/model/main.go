// Command model stands for a provider of models. Whatever it is asked it answers HTTP 200 and valid JSON, and how good
// the answer is depends on the mood of the model:
//
//	curl -X PUT '127.0.0.1:8091/moods/gpt-primary:v4?mood=vague'
//
// A good one names its sources, a vague one does not, a hung one takes a minute.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	models = []string{"gpt-primary:v4", "gpt-primary:v3", "gpt-secondary:v4"} // Those of the routes in policies.yaml.
	moods  = []string{"good", "vague", "hung"}
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8091", "`address` to listen on")
	flag.Parse()
	var moodOf sync.Map // Of a model, by its name. Nothing is good.
	http.HandleFunc("PUT /moods/{model}", func(w http.ResponseWriter, r *http.Request) {
		model, mood := r.PathValue("model"), r.URL.Query().Get("mood")
		if !slices.Contains(models, model) {
			http.Error(w, fmt.Sprintf("there is no model %q: want one of %s", model, strings.Join(models, ", ")),
				http.StatusNotFound)
			return
		}
		if !slices.Contains(moods, mood) {
			http.Error(w, fmt.Sprintf("%q is no mood: want one of %s", mood, strings.Join(moods, ", ")),
				http.StatusBadRequest)
			return
		}
		moodOf.Store(model, mood)
	})
	http.HandleFunc("POST /answers", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model, Question string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := map[string]any{"text": "It is 4711.", "sources": []string{"page 3"}}
		switch mood, _ := moodOf.Load(asked.Model); mood {
		case "vague":
			answer["sources"] = []string{}
		case "hung":
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
			}
		}
		_ = json.NewEncoder(w).Encode(answer) // Who asked has gone.
	})
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Print("the model answers at http://", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
