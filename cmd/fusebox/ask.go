package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ask asks a question, and returns an error unless the answer is yes.
func ask(in io.Reader, out io.Writer, question string) error {
	if !isTerminal(in) {
		return usageErrorf("nobody can be asked here, as stdin is no terminal: say --yes to go on")
	}
	fmt.Fprint(out, question+" [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	fmt.Fprintln(out)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}
