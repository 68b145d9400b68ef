package breaker_test

import (
"testing"
"github.com/fusebox-project/fusebox/breaker"
)
func TestExplainX(t *testing.T){
 t.Log("\n"+read(t,spec).Explain("submission-extraction:gpt-primary:v4"))
 t.Log("\n"+breaker.Builtin().Explain("a"))
 t.Log("\n"+read(t,spec).Explain("b"))
}
