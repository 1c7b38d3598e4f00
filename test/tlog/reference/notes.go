package main

import (
	"crypto/rand"
	"encoding/json"

	"golang.org/x/mod/sumdb/note"
)

func generateKey(with json.RawMessage) (any, error) {
	var asked struct{ Name string }
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	skey, vkey, err := note.GenerateKey(rand.Reader, asked.Name)
	return map[string]string{"skey": skey, "vkey": vkey}, err
}

func signNote(with json.RawMessage) (any, error) {
	var asked struct {
		Text  string
		Skeys []string
	}
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	signers := []note.Signer{}
	for _, skey := range asked.Skeys {
		signer, err := note.NewSigner(skey)
		if err != nil {
			return nil, err
		}
		signers = append(signers, signer)
	}
	return note.Sign(&note.Note{Text: asked.Text}, signers...)
}

// The texts of signed notes; null for a note that Go refuses.
func openNotes(with json.RawMessage) (any, error) {
	var asked struct {
		Vkey  string
		Notes [][]byte
	}
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(asked.Vkey)
	if err != nil {
		return nil, err
	}
	answers := []any{}
	for _, each := range asked.Notes {
		opened, err := note.Open(each, note.VerifierList(verifier))
		if err != nil {
			answers = append(answers, nil)
		} else {
			answers = append(answers, opened.Text)
		}
	}
	return answers, nil
}
