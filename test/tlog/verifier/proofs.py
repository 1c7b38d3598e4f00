"""Proofs of items"""
import re
from .entries import CONTENTS, content, entry
from .notes import checkpoint
from .tree import check_inclusion, leaf
from .words import from_base64, integer, is_hash, is_string, need, read, sha256, text

def proof(data):
    need(len(data) <= 524288, "bad_proof")
    everything = text(data, "bad_proof")
    need("\n\n" in everything, "bad_proof")
    head, rest = everything.split("\n\n", 1)
    first, *lines = head.split("\n")
    need(first == "c2sp.org/tlog-proof@v1" and lines, "bad_proof")
    extra = None
    if lines[0].startswith("extra "):
        extra = from_base64(lines.pop(0)[6:], "bad_proof")
        need(1 <= len(extra) <= 262144, "bad_proof")
    need(lines and lines[0].startswith("index "), "bad_proof")
    index = integer(lines.pop(0)[6:], "bad_proof")
    need(len(lines) <= 53, "bad_proof")
    return extra, index, [from_base64(line, "bad_proof", 32) for line in lines], rest.encode()

def is_of(it, index, item):
    kind, wanted = item["kind"], item.get("id")
    if kind == "entry": return index == item["index"]
    if kind == "receipt": return it["type"] == kind and it["seq"] == item["seq"] and it["hash"] == item.get("hash", it["hash"])
    if kind == "removal":
        if it["type"] == "deletion": return (it["of"], it["id"]) == (item["of"], wanted)
        return it["type"] == "act" and (it["act"], it["item"], it["item_id"]) == ("remove", item["of"], wanted)
    return (it["type"] == kind or it["type"] == "edit" and it["of"] == kind) and wanted in (None, it["id"])

def verify_item(data, key, item):
    extra, index, hashes, signed = proof(data)
    need(extra is not None, "bad_extra")
    x = read(text(extra, "bad_extra"), "bad_extra")
    need(is_string(x.get("entry")) and "content" in x and "salt" in x, "bad_extra")
    is_salt = lambda salt: is_string(salt) and re.fullmatch("[0-9a-f]{32}", salt)
    need(x["content"] is x["salt"] is None or is_string(x["content"]) and is_salt(x["salt"]), "bad_extra")
    origin, size, root = checkpoint(signed, key)
    check_inclusion(leaf(x["entry"].encode()), index, size, hashes, root)
    it = entry(x["entry"].encode())
    need((it["type"] == "log") == (index == 0), "misplaced_entry")
    need(it["type"] != "log" or (it["origin"], it["vkey"]) == (origin, key), "misplaced_entry")
    need(is_of(it, index, item), "other_item")
    shown = None
    if x["content"] is not None:
        need(is_hash(it.get("content")), "bad_extra")
        need(sha256(bytes.fromhex(x["salt"]), x["content"].encode()).hex() == it["content"], "wrong_content")
        kind = it["of"] if it["type"] == "edit" else it["type"]
        if kind in CONTENTS: shown = content(kind, x["content"])
    if item.get("shown"):
        need(shown is not None, "content_withheld")
        need(all(name in shown and shown[name] == value for name, value in item["shown"].items()), "other_content")
    return {"index": index, "size": size, "content": shown}
