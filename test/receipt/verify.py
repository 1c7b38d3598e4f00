"""Verifies vector files as src/receipt/FORMAT.md says, and shares no code with the service: verify.py FILE..."""
import base64, contextlib, datetime, decimal, hashlib, json, re, sys

class Fault(Exception): pass

def check(good, fault):
    if not good: raise Fault(fault)

@contextlib.contextmanager
def faulty(fault, *errors):
    try: yield
    except errors: raise Fault(fault)

def canonical(value, level=0):
    check(level <= 200, "not_canonical")
    if isinstance(value, float): return number(value)
    if isinstance(value, list): return "[" + ",".join(canonical(each, level + 1) for each in value) + "]"
    if not isinstance(value, dict): return json.dumps(value, ensure_ascii=False)
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(canonical(name) + ":" + canonical(value[name], level + 1) for name in names) + "}"

def number(value):
    check(abs(value) < float("inf"), "not_canonical")
    exact = decimal.Decimal(repr(value)).normalize()  # repr gives the fewest digits
    if exact == int(exact) and abs(value) < 1e21: return str(int(exact))
    return format(exact, "f" if 1e-6 <= abs(value) < 1e21 else "e")

def parse(data):
    with faulty("not_utf8", UnicodeDecodeError): text = data.decode("utf-8")
    with faulty("not_json", ValueError), faulty("not_canonical", RecursionError):
        document = json.loads(text, parse_int=float, parse_constant=lambda name: check(False, "not_json"))
    with faulty("not_canonical", UnicodeEncodeError): check(canonical(document).encode("utf-8") == data, "not_canonical")
    with faulty("bad_document", KeyError, TypeError, ValueError): check(is_document(document), "bad_document")
    return document

def are(kind, *values): return all(isinstance(value, kind) for value in values)
def are_integers(*values): return are(float, *values) and all(v.is_integer() and 0 <= v < 2**53 for v in values)
def are_hashes(*values): return all(re.fullmatch("[0-9a-f]{64}", value) for value in values)
def is_date(text): return datetime.date.fromisoformat(text).isoformat() == text
def is_time(text): return datetime.datetime.fromisoformat(text[:-1]).isoformat(timespec="milliseconds") + "Z" == text

def is_document(it):
    actor, body, kind = it["actor"], it["body"], it["body"]["type"]
    return (are_integers(it["v"], it["seq"], it["city_day"], body["count"]) and it["v"] == 1 and it["seq"] >= 1
        and are(str, it["kind"], actor["agent"], actor["seat"], kind) and (it["book"] is None or are(str, it["book"]))
        and are(list, it["refs"]) and are(dict, it["evidence"]) and are_hashes(it["prev_hash"], body["head"])
        and is_time(it["ts"]) and (kind == "genesis") == (it["seq"] == 1)
        and (kind not in ("genesis", "session") or are(str, body["note"]))
        and (kind != "session" or is_date(body["session"]))
        and (kind != "daily" or is_date(body["date"]) and are_integers(body["head_seq"]) and are(bool, body["verify_ok"])))

def verify_next(seq, last_hash, last_ts, receipt):
    data = receipt["canonical"].encode() if "canonical" in receipt else base64.b64decode(receipt["canonical_base64"])
    digest = hashlib.sha256(data).hexdigest()
    check_seq(receipt.get("seq", seq), seq)
    check(receipt.get("hash", digest) == digest, "wrong_hash")
    document = parse(data)
    body = document["body"]
    check_seq(document["seq"], seq)
    check(document["prev_hash"] == last_hash == receipt.get("prev_hash", last_hash), "wrong_prev_hash")
    check(body["count"] == seq - 1 and (body["type"] != "daily" or body["head_seq"] == seq - 1), "wrong_count")
    check(body["head"] == last_hash, "wrong_head")
    check(document["ts"] >= last_ts, "wrong_ts")
    return digest, document["ts"]

def check_seq(seq, due): check(seq == due, "gap" if seq > due else "repeat")

def verify(vector):
    last, ts = vector.get("previous", {"seq": 0, "hash": "0" * 64}), ""
    seq, digest = last["seq"], last["hash"]
    try:
        for receipt in vector["receipts"]:
            seq += 1
            digest, ts = verify_next(seq, digest, ts, receipt)
        head, end = vector.get("head", {"seq": seq, "hash": digest}), seq
        seq = min(end, head["seq"]) + (end != head["seq"])
        check(end >= head["seq"], "truncated")
        check(end <= head["seq"], "beyond_head")
        check(digest == head["hash"], "wrong_hash")
    except Fault as fault: return {"ok": False, "seq": seq, "fault": str(fault)}
    return {"ok": True}

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file: print(json.dumps(verify(json.load(file))))
