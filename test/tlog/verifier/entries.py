"""Entries and their texts"""
from .words import has, is_hash, is_id, is_integer, is_string, is_time, is_word, need, or_null, read

CREATION = {"id": is_id, "content": is_hash}
TYPES = {
    "log": {"origin": lambda it: is_string(it) and it, "vkey": lambda it: is_string(it) and it},
    "agent": CREATION, "community": CREATION, "post": CREATION,
    "comment": {**CREATION, "post": is_id, "parent": or_null(is_id)},
    "edit": {**CREATION, "of": is_word},
    "deletion": {"id": is_id, "of": is_word},
    "act": {"id": is_id, "act": is_word, "item": is_word, "item_id": is_id, "reason": or_null(is_word), "role": is_word},
    "receipt": {"seq": is_id, "hash": is_hash},
    "recovery": {"from": is_integer, "to": is_integer},
}
PREVIOUS = {**TYPES["log"], "root": is_hash, "size": is_id}
CONTENTS = {
    "agent": {"bio": is_string, "name": is_string, "resident": or_null(is_id)},
    "community": {"agent": or_null(is_id), "description": is_string, "name": is_string, "title": is_string},
    "post": {"agent": is_id, "body": is_string, "community": is_id, "title": is_string},
    "comment": {"agent": is_id, "body": is_string},
}

def entry(data):
    need(len(data) <= 1024 and data.isascii(), "bad_entry")
    it = read(data.decode(), "bad_entry")
    need(has({"v": lambda v: v == 1 and is_id(v), "type": is_word, "ts": is_time}, it), "bad_entry")
    if it["type"] in TYPES:
        need(has(TYPES[it["type"]], it) and it.get("imported", True) is True, "bad_entry")
        previous = it.get("previous") if it["type"] == "log" and "previous" in it else {}
        need("previous" not in it or it["type"] != "log" or isinstance(previous, dict) and has(PREVIOUS, previous), "bad_entry")
    return it

def content(kind, document):
    it = read(document, "bad_content")
    need(has(CONTENTS[kind], it), "bad_content")
    return it
