package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

// The stored hashes of a tree with the entries "entry 0", "entry 1", and so on.
type storage []tlog.Hash

func (s storage) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= int64(len(s)) {
			return nil, fmt.Errorf("there is no stored hash %d", index)
		}
		hashes[i] = s[index]
	}
	return hashes, nil
}

func store(size int64) (storage, error) {
	var stored storage
	for n := int64(0); n < size; n++ {
		hashes, err := tlog.StoredHashes(n, []byte(fmt.Sprintf("entry %d", n)), stored)
		if err != nil {
			return nil, err
		}
		stored = append(stored, hashes...)
	}
	return stored, nil
}

// For each size the root, and a digest of the proofs of all indexes. If indexes are given, it takes these alone.
func trees(with json.RawMessage) (any, error) {
	var asked struct{ Sizes, Indexes []int64 }
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	stored, err := store(max(asked.Sizes))
	if err != nil {
		return nil, err
	}
	type tree struct {
		Root      tlog.Hash `json:"root"`
		Inclusion string    `json:"inclusion"`
	}
	answers := []tree{}
	for _, size := range asked.Sizes {
		root, err := tlog.TreeHash(size, stored)
		if err != nil {
			return nil, err
		}
		inclusion := sha256.New()
		for _, index := range chosen(asked.Indexes, size) {
			proof, err := tlog.ProveRecord(size, index, stored)
			if err != nil {
				return nil, err
			}
			for _, hash := range proof {
				inclusion.Write(hash[:])
			}
		}
		answers = append(answers, tree{root, hex.EncodeToString(inclusion.Sum(nil))})
	}
	return answers, nil
}

// The tiles that must be published when a tree grows, each once and as wide as it is then, with the SHA-256 of its bytes.
func newTiles(with json.RawMessage) (any, error) {
	var asked struct{ Growths [][2]int64 }
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	largest := int64(0)
	for _, growth := range asked.Growths {
		largest = max([]int64{largest, growth[1]})
	}
	stored, err := store(largest)
	if err != nil {
		return nil, err
	}
	answers := []map[string]string{}
	for _, growth := range asked.Growths {
		widest := map[[2]int64]tlog.Tile{}
		for _, tile := range tlog.NewTiles(height, growth[0], growth[1]) {
			if place := [2]int64{int64(tile.L), tile.N}; widest[place].W < tile.W {
				widest[place] = tile
			}
		}
		tiles := map[string]string{}
		for _, tile := range widest {
			data, err := tlog.ReadTileData(tile, stored)
			if err != nil {
				return nil, err
			}
			digest := sha256.Sum256(data)
			tiles[pathOf(tile)] = hex.EncodeToString(digest[:])
		}
		answers = append(answers, tiles)
	}
	return answers, nil
}

// C2SP leaves the height out of the paths of Go, and calls data entries.
func pathOf(tile tlog.Tile) string {
	return strings.Replace(strings.Replace(tile.Path(), "tile/8/", "tile/", 1), "tile/data/", "tile/entries/", 1)
}

func chosen(indexes []int64, size int64) []int64 {
	chosen := []int64{}
	if indexes == nil {
		for index := int64(0); index < size; index++ {
			chosen = append(chosen, index)
		}
	}
	for _, index := range indexes {
		if index < size {
			chosen = append(chosen, index)
		}
	}
	return chosen
}

func max(values []int64) int64 {
	largest := values[0]
	for _, value := range values {
		if value > largest {
			largest = value
		}
	}
	return largest
}
