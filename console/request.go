package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const (
	bodyMost   = 1 << 20         // Bytes of a request.
	bodyWithin = 5 * time.Second // A request's body has to be here by then.
)

// register adds an operation. The answers that any of its sort may get are described as well.
func register[I, O any](api huma.API, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	add := func(statuses ...int) { op.Errors = append(op.Errors, statuses...) }
	add(http.StatusMisdirectedRequest, http.StatusUnprocessableEntity)
	for _, wanted := range op.Security {
		add(http.StatusUnauthorized)
		if _, admin := wanted[adminScheme]; admin {
			add(http.StatusNotFound)
		}
	}
	if op.Method != http.MethodGet {
		op.MaxBodyBytes = bodyMost
		add(http.StatusBadRequest, http.StatusForbidden, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	huma.Register(api, op, handler)
}

// receive reads a request's body, for those operations that take one.
func (c *Console) receive(api huma.API, ctx huma.Context, next func(huma.Context)) {
	if ctx.Operation().RequestBody != nil {
		if status, why := receiveBody(ctx); status != http.StatusOK {
			_ = huma.WriteErr(api, ctx, status, why) // The client has gone where this fails.
			return
		}
	}
	next(ctx)
}

// receiveBody puts the whole body in the place of what came by the network. It returns a status and why not.
func receiveBody(ctx huma.Context) (int, string) {
	if kind := ctx.Header("Content-Type"); kind != "" && !isJSON(kind) {
		return http.StatusUnsupportedMediaType, "want Content-Type: application/json"
	}
	if err := ctx.SetReadDeadline(time.Now().Add(bodyWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return http.StatusBadRequest, "the connection is not well: " + err.Error()
	}
	r, _ := humago.Unwrap(ctx)
	body, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	var network net.Error
	switch {
	case err == nil:
		r.Body = io.NopCloser(bytes.NewReader(body))
		return http.StatusOK, ""
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "want a body of at most 1 MiB"
	case errors.As(err, &network) && network.Timeout():
		return http.StatusRequestTimeout, "the body did not come within " + bodyWithin.String()
	}
	return http.StatusBadRequest, "the body cannot be read: " + err.Error()
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
