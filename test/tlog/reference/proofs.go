package main

import (
	"encoding/json"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Tiles by their paths.
type tileMap map[string][]byte

func (m tileMap) Height() int { return height }

func (m tileMap) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, tile := range tiles {
		bytes, ok := m[pathOf(tile)]
		if !ok {
			return nil, fmt.Errorf("there is no tile %s", pathOf(tile))
		}
		data[i] = bytes
	}
	return data, nil
}

func (m tileMap) SaveTiles([]tlog.Tile, [][]byte) {}

// Inclusion proofs from tiles, which Go checks against the root.
func proveFromTiles(with json.RawMessage) (any, error) {
	var asked struct {
		Size    int64
		Root    tlog.Hash
		Tiles   tileMap
		Indexes []int64
	}
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	reader := tlog.TileHashReader(tlog.Tree{N: asked.Size, Hash: asked.Root}, asked.Tiles)
	answers := []any{}
	for _, index := range asked.Indexes {
		proof, err := tlog.ProveRecord(asked.Size, index, reader)
		if err != nil {
			return nil, err
		}
		answers = append(answers, proof)
	}
	return answers, nil
}

func checkInclusions(with json.RawMessage) (any, error) {
	var asked []struct {
		Leaf, Root  tlog.Hash
		Index, Size int64
		Proof       tlog.RecordProof
	}
	if err := json.Unmarshal(with, &asked); err != nil {
		return nil, err
	}
	answers := []bool{}
	for _, each := range asked {
		answers = append(answers, tlog.CheckRecord(each.Proof, each.Size, each.Root, each.Index, each.Leaf) == nil)
	}
	return answers, nil
}
