// Answers the questions of the tests with Go's golang.org/x/mod/sumdb: one JSON array of questions on standard input,
// the array of answers on standard output.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

var questions = map[string]func(json.RawMessage) (any, error){
	"trees":           trees,
	"newTiles":        newTiles,
	"proveFromTiles":  proveFromTiles,
	"checkInclusions": checkInclusions,
	"generateKey":     generateKey,
	"signNote":        signNote,
	"openNotes":       openNotes,
}

func main() {
	var asked []struct {
		Ask  string
		With json.RawMessage
	}
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	answers := []any{}
	for _, each := range asked {
		question, ok := questions[each.Ask]
		if !ok {
			fail(fmt.Errorf("there is no question %q", each.Ask))
		}
		answer, err := question(each.With)
		if err != nil {
			fail(fmt.Errorf("%s: %w", each.Ask, err))
		}
		answers = append(answers, answer)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
