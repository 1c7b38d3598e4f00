"""Keys, notes, checkpoints and policies"""
import re
from .ed25519 import verify_ed25519
from .words import from_base64, integer, need, sha256, text

SPACES = "\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200b)))

def is_name(name): return name and not any(letter <= " " or letter == "+" or letter in SPACES for letter in name)

def vkey(key):
    need(len(key.encode()) <= 1024 and key.count("+") >= 2, "bad_key")
    name, id, letters = key.split("+", 2)
    data = from_base64(letters, "bad_key", 33)
    need(is_name(name) and data[0] == 1, "bad_key")
    need(id == sha256(name.encode(), b"\n", data)[:4].hex(), "bad_key")
    return name, id, data[1:]

def note(data):
    need(len(data) <= 131072, "bad_note")
    content = text(data, "bad_note")
    need(not re.search("[\0-\x09\x0b-\x1f]", content) and "\n\n" in content, "bad_note")
    end = content.rindex("\n\n")
    lines = content[end + 2:].split("\n")
    need(lines.pop() == "" and 1 <= len(lines) <= 16, "bad_note")
    signatures = []
    for line in lines:
        match = re.fullmatch("— ([^ ]*) (.*)", line)
        need(match and is_name(match[1]), "bad_note")
        signature = from_base64(match[2], "bad_note")
        need(len(signature) >= 5, "bad_note")
        signatures.append((match[1], signature[:4].hex(), signature[4:]))
    return content[:end + 1], signatures

def checkpoint(data, key):
    name, id, public = vkey(key)
    signed, signatures = note(data)
    lines = signed.split("\n")
    need(lines.pop() == "" and len(lines) >= 3 and "" not in lines, "bad_checkpoint")
    size, root = integer(lines[1], "bad_checkpoint"), from_base64(lines[2], "bad_checkpoint", 32)
    need(lines[0] == name, "other_origin")
    own = [signature for of, by, signature in signatures if (of, by) == (name, id)]
    need(own, "unsigned")
    for signature in own: need(verify_ed25519(public, signed.encode(), signature), "bad_signature")
    return name, size, root

def policy(data):
    need(len(data) <= 65536, "bad_policy")
    content = text(data, "bad_policy")
    need(not re.search("[\0-\x08\x0b-\x1f\x7f]", content), "bad_policy")
    lines, logs, quorums = content.split("\n"), [], 0
    need(lines.pop() == "", "bad_policy")
    for line in lines:
        words = re.findall("[^ \t]+", line)
        if not words or words[0].startswith("#"): continue
        if words == ["quorum", "none"]: quorums += 1
        else:
            need(words[0] == "log" and 2 <= len(words) <= 3 and len(logs) < 32, "bad_policy")
            logs.append((words[1], words[2] if len(words) == 3 else None, vkey(words[1])[2]))
    need(quorums == 1 and len({public for _, _, public in logs}) == len(logs), "bad_policy")
    return logs
