package console

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/fusebox-project/fusebox/processor/near"
)

// unknownParameter is what huma says of a query parameter that an operation does not have.
const unknownParameter = "unknown query parameter"

// wrongTime is how huma begins what it says of a query parameter that is no time.
const wrongTime = "invalid date/time for format "

// suggester returns what adds to the faults of a request what may have been meant by a member or a parameter that is
// not known, and what a time is like. The schemas are those of the API, filled while it is made.
func suggester(schemas func(ref string) *huma.Schema) huma.Transformer {
	return func(ctx huma.Context, _ string, answer any) (any, error) {
		model, is := answer.(*huma.ErrorModel)
		if !is {
			return answer, nil
		}
		for _, fault := range model.Errors {
			if fault == nil {
				continue
			}
			_, name, _ := strings.Cut(fault.Location, ".")
			switch op := ctx.Operation(); {
			case strings.HasPrefix(fault.Message, wrongTime):
				fault.Message = "want an RFC 3339 time, such as 2026-09-14T12:00:00Z"
			case fault.Message == unknownParameter:
				fault.Message += near.Question(near.Words(name, parameters(op)))
			case fault.Message == validation.MsgUnexpectedProperty:
				fault.Message += near.Question(near.Words(name, members(op, schemas)))
			}
		}
		return model, nil
	}
}

// parameters returns the names of an operation's query parameters.
func parameters(op *huma.Operation) (names []string) {
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// members returns the names of the members that an operation's body may have.
func members(op *huma.Operation, schemas func(ref string) *huma.Schema) []string {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	schema := op.RequestBody.Content["application/json"].Schema
	if schema.Ref != "" {
		schema = schemas(schema.Ref)
	}
	return slices.Collect(maps.Keys(schema.Properties))
}

// unserved answers a request that no other handler takes: 405 where there is one for another method, else 404. People
// who look at pages get a page.
func (c *Console) unserved(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
		other := &http.Request{Method: method, Host: r.Host, URL: r.URL}
		if _, pattern := mux.Handler(other); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	refuse := problem
	if looks(r) {
		w.Header().Set("Vary", "Accept")
		refuse = func(w http.ResponseWriter, status int, words string) {
			c.trouble(w, status, http.StatusText(status), sentence(words)+".")
		}
	}
	if len(allowed) == 0 {
		refuse(w, http.StatusNotFound, r.URL.Path+" is not served"+
			near.Question(near.Words(r.URL.Path, []string{"/circuits/", "/processors", "/policies", "/openapi.json"}))+
			"; /openapi.json describes what is")
		return
	}
	w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
	switch {
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/override":
		refuse(w, http.StatusMethodNotAllowed, "an override is said with the form on the page of its circuit, or "+
			"of many with the one on the page of all circuits")
	default:
		refuse(w, http.StatusMethodNotAllowed, r.Method+" is not served here; Allow says what is")
	}
}

// looks tells whether somebody at a browser asks for a page.
func looks(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/v1/")
}
