package console

import "net/http"

// unknownView is the page of a circuit that nobody has heard of.
type unknownView struct {
	frame
	overrideForm
	Circuit string
	Near    []named
}

// unknownPage names the circuits that may have been meant. An operator may speak of this one before its first outcome.
func (c *Console) unknownPage(w http.ResponseWriter, name string) {
	v := unknownView{c.frame("circuits", "Not known"), c.newOverrideForm(name, false), name, nil}
	for _, other := range c.view.near(name) {
		v.Near = append(v.Near, named{Name: other, Link: circuitLink(other)})
	}
	c.render(w, http.StatusNotFound, "unknown", v)
}
