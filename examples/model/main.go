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
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8091", "`address` to listen on")
	flag.Parse()
	var moods sync.Map // Of a model, by its name. Nothing is good.
	http.HandleFunc("PUT /moods/{model}", func(_ http.ResponseWriter, r *http.Request) {
		moods.Store(r.PathValue("model"), r.URL.Query().Get("mood"))
	})
	http.HandleFunc("POST /answers", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Model, Question string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := map[string]any{"text": "It is 4711.", "sources": []string{"page 3"}}
		switch mood, _ := moods.Load(asked.Model); mood {
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
