package console

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/fusebox-project/fusebox/schemas"
)

const (
	apiScheme   = "api" // By which token the description knows it.
	adminScheme = "admin"

	challenge = `Bearer realm="fusebox"`
)

// routes returns all that is served.
func (c *Console) routes() http.Handler {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("Fusebox", c.config.Version)
	config.Info.Description = "The state of circuits, what becomes of them, and what routers, producers and " +
		"operators have to say. Errors are application/problem+json."
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.CreateHooks = nil
	config.RejectUnknownQueryParameters = true
	config.Transformers = []huma.Transformer{suggester(config.Components.Schemas.SchemaFromRef)}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		apiScheme:   {Type: "http", Scheme: "bearer", Description: "FUSEBOX_API_TOKEN"},
		adminScheme: {Type: "http", Scheme: "bearer", Description: "FUSEBOX_ADMIN_TOKEN"},
	}
	api := humago.New(mux, config)
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) { c.authorize(api, ctx, next) })
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) { c.receive(api, ctx, next) })
	c.registerCircuits(api)
	c.registerHistory(api)
	c.registerStream(api)
	c.registerOutcomes(api)
	c.registerClaims(api)
	c.registerOverrides(api)
	c.registerProcessors(api)
	c.registerLevel(api)
	description := describe(api.OpenAPI())
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(description) // The client has gone where this fails.
	})
	c.registerPages(mux)
	c.registerProfiles(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { c.unserved(mux, w, r) })
	return c.metrics.measured(c.guard(mux))
}

// guard is in front of everything: it bounds bodies, and keeps web pages of others from speaking for whoever looks at
// them.
func (c *Console) guard(next http.Handler) http.Handler {
	foreign := http.NewCrossOriginProtection()
	foreign.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusForbidden, "a page of another origin asks for this")
	}))
	protected := foreign.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.config.Loopback && !isLoopback(r.Host) {
			problem(w, http.StatusMisdirectedRequest, "this is served under a loopback address alone, not as "+r.Host)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyMost)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		protected.ServeHTTP(w, r)
	})
}

// isLoopback tells whether the host of a request is this machine by a name that only this machine has: so nobody comes
// by a name of his own that he made point here.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// authorize lets an operation be asked for by those who may.
func (c *Console) authorize(api huma.API, ctx huma.Context, next func(huma.Context)) {
	for _, wanted := range ctx.Operation().Security {
		status, why := http.StatusOK, ""
		if _, admin := wanted[adminScheme]; admin {
			status, why = c.mayOperate(ctx.Header("Authorization"))
		} else {
			status, why = c.maySpeak(ctx.Header("Authorization"))
		}
		if status == http.StatusOK {
			continue
		}
		if status == http.StatusNotFound && strings.HasPrefix(ctx.Operation().OperationID, "override-") {
			why += overrideNeedsNone
		}
		if status == http.StatusUnauthorized {
			ctx.SetHeader("WWW-Authenticate", challenge)
		}
		_ = huma.WriteErr(api, ctx, status, why) // The client has gone where this fails.
		return
	}
	next(ctx)
}

// maySpeak tells whether a request may report outcomes and claim probes, as a status and why not.
func (c *Console) maySpeak(authorization string) (int, string) {
	if c.config.APIToken == "" {
		if c.config.Loopback {
			return http.StatusOK, ""
		}
		return http.StatusForbidden,
			"without FUSEBOX_API_TOKEN this is served only where the server listens on a loopback address: set " +
				"FUSEBOX_HTTP_ADDR=127.0.0.1:8080, or set FUSEBOX_API_TOKEN and send it as a bearer"
	}
	return checkToken(authorization, c.config.APIToken, "FUSEBOX_API_TOKEN")
}

// overrideNeedsNone is what is said beside, of an override.
const overrideNeedsNone = "; `fusebox override` needs none"

// mayOperate tells whether a request may do what operators do, as a status and why not.
func (c *Console) mayOperate(authorization string) (int, string) {
	if c.config.AdminToken == "" {
		return http.StatusNotFound, "not served without FUSEBOX_ADMIN_TOKEN"
	}
	return checkToken(authorization, c.config.AdminToken, "FUSEBOX_ADMIN_TOKEN")
}

func checkToken(authorization, token, name string) (int, string) {
	scheme, sent, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "bearer") || !sameToken(strings.TrimSpace(sent), token) {
		return http.StatusUnauthorized, "want Authorization: Bearer with " + name
	}
	return http.StatusOK, ""
}

// problem answers with an error as everything here does.
func problem(w http.ResponseWriter, status int, detail string) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// described are the schemas of the wire, by their names in the description.
var described = map[string]string{"State": "state", "Outcome": "outcome", "PoliciesInForce": "policies"}

// describe returns the description of the API with the wire's own schemas in it.
func describe(api *huma.OpenAPI) []byte {
	text, err := json.Marshal(api)
	if err != nil {
		panic("console: the description of the API: " + err.Error())
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		panic("console: the description of the API: " + err.Error())
	}
	components := all["components"].(map[string]any)["schemas"].(map[string]any)
	for name, file := range described {
		own := strings.ReplaceAll(string(schemas.Schema(file)), `"#/$defs/`, `"#/components/schemas/`+name+`/$defs/`)
		var schema map[string]any
		if err := json.Unmarshal([]byte(own), &schema); err != nil {
			panic("console: schema " + file + ": " + err.Error())
		}
		delete(schema, "$id")
		delete(schema, "$schema")
		components[name] = schema
	}
	if text, err = json.Marshal(all); err != nil {
		panic("console: the description of the API: " + err.Error())
	}
	return text
}

// refTo is a schema of the wire.
func refTo(name string) *huma.Schema { return &huma.Schema{Ref: "#/components/schemas/" + name} }

// stateJSON is a state record.
type stateJSON json.RawMessage

// Schema returns the wire's own.
func (stateJSON) Schema(huma.Registry) *huma.Schema { return refTo("State") }

// MarshalJSON returns the record.
func (s stateJSON) MarshalJSON() ([]byte, error) { return s, nil }

func newStateJSON(s *schemas.State) stateJSON { return schemas.AppendState(nil, s) }
