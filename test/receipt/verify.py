"""Verifies vector files as src/receipt/FORMAT.md says, and shares no code with the service: verify.py FILE..."""
import base64, datetime, decimal, hashlib, json, re, sys

class Fault(Exception):
    pass

def check(good, fault):
    if not good:
        raise Fault(fault)

def number(value):
    check(value - value == 0, "not_canonical")  # neither infinite nor NaN
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    d, k, n = "".join(map(str, digits)), len(digits), len(digits) + exponent
    if value == 0: return "0"
    if k <= n <= 21: text = d + "0" * (n - k)
    elif 0 < n < k: text = d[:n] + "." + d[n:]
    elif -6 < n <= 0: text = "0." + "0" * -n + d
    else: text = d[0] + ("." + d[1:] if k > 1 else "") + "e%+d" % (n - 1)
    return "-" * sign + text

def canonical(value, level=0):
    check(level <= 200, "not_canonical")
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name], level + 1) for name in names) + "}"
    if isinstance(value, list): return "[" + ",".join(canonical(element, level + 1) for element in value) + "]"
    if isinstance(value, float): return number(value)
    return json.dumps(value, ensure_ascii=False)

def parse(data):
    try: text = data.decode("utf-8")
    except UnicodeDecodeError: raise Fault("not_utf8")
    try: value = json.loads(text, parse_int=float, parse_constant=lambda name: check(False, "not_json"))
    except ValueError: raise Fault("not_json")
    except RecursionError: raise Fault("not_canonical")
    try: check(canonical(value).encode("utf-8") == data, "not_canonical")
    except UnicodeEncodeError: raise Fault("not_canonical")
    return value

def is_integer(value): return isinstance(value, float) and value.is_integer() and 0 <= value < 2**53
def is_string(value): return isinstance(value, str)
def is_hash(value): return is_string(value) and re.fullmatch("[0-9a-f]{64}", value)

def is_date(value):
    pattern = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    try: return is_string(value) and re.fullmatch(pattern, value) and datetime.date.fromisoformat(value)
    except ValueError: return False

def is_time(value):
    clock = r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
    return is_string(value) and is_date(value[:10]) and re.fullmatch(clock, value[10:])

MEMBERS = {
    "v": lambda value: is_integer(value) and value == 1, "seq": lambda value: is_integer(value) and value >= 1,
    "kind": is_string, "ts": is_time, "city_day": is_integer, "book": lambda value: value is None or is_string(value),
    "actor": {"agent": is_string, "seat": is_string}, "prev_hash": is_hash,
    "refs": lambda value: isinstance(value, list), "evidence": {},
    "body": {"type": is_string, "count": is_integer, "head": is_hash},
}
BODIES = {
    "genesis": {"note": is_string}, "session": {"note": is_string, "session": is_date},
    "daily": {"date": is_date, "head_seq": is_integer, "verify_ok": lambda value: isinstance(value, bool)},
}

def has(value, members):
    if not isinstance(members, dict): return members(value)
    return isinstance(value, dict) and all(name in value and has(value[name], rule) for name, rule in members.items())

def verify_next(last, receipt):
    due = last["seq"] + 1
    def is_due(seq): check(seq == due, "gap" if seq > due else "repeat")
    data = receipt["canonical"].encode() if "canonical" in receipt else base64.b64decode(receipt["canonical_base64"])
    digest = hashlib.sha256(data).hexdigest()
    is_due(receipt.get("seq", due))
    check(receipt.get("hash", digest) == digest, "wrong_hash")
    document = parse(data)
    check(has(document, MEMBERS) and has(document["body"], BODIES.get(document["body"]["type"], {})), "bad_document")
    body = document["body"]
    check((body["type"] == "genesis") == (document["seq"] == 1), "bad_document")
    is_due(document["seq"])
    check(document["prev_hash"] == last["hash"], "wrong_prev_hash")
    check(receipt.get("prev_hash", last["hash"]) == last["hash"], "wrong_prev_hash")
    check(body["count"] == due - 1 and (body["type"] != "daily" or body["head_seq"] == due - 1), "wrong_count")
    check(body["head"] == last["hash"], "wrong_head")
    check(document["ts"] >= last.get("ts", ""), "wrong_ts")
    return {"seq": due, "hash": digest, "ts": document["ts"]}

def verify(vector):
    last = vector.get("previous", {"seq": 0, "hash": "0" * 64})
    seq = None
    try:
        for receipt in vector["receipts"]:
            seq = last["seq"] + 1
            last = verify_next(last, receipt)
        head = vector.get("head", last)
        seq = last["seq"] + 1
        check(last["seq"] >= head["seq"], "truncated")
        seq = head["seq"] + 1
        check(last["seq"] <= head["seq"], "gap")
        seq = last["seq"]
        check(last["hash"] == head["hash"], "wrong_hash")
    except Fault as fault:
        return {"ok": False, "seq": seq, "fault": str(fault)}
    return {"ok": True}

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        print(json.dumps(verify(json.load(file))))
