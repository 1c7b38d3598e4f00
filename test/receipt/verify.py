"""Verifies vector files as src/receipt/FORMAT.md says, and shares no code with the service: verify.py FILE..."""
import base64, datetime, decimal, hashlib, json, pathlib, re, sys

def canonical(value, level=0):
    if level > 200: return ""  # unlike any text that has a value here
    if isinstance(value, list): return "[" + ",".join(canonical(each, level + 1) for each in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name], level + 1) for name in names) + "}"
    if not isinstance(value, float): return json.dumps(value, ensure_ascii=False)  # below, repr has the fewest digits
    return format(decimal.Decimal(repr(value or 0)).normalize(), "f" if 1e-6 <= abs(value or 1) < 1e21 else "e")

def a(kind): return lambda it: isinstance(it, kind)
def members(**checks): return lambda it: all(check(it[name]) for name, check in checks.items())
def integer(least=0, most=2**53 - 1): return lambda it: isinstance(it, float) and it % 1 == 0 and least <= it <= most
def sha256(it): return re.fullmatch("[0-9a-f]{64}", it)
def time(it): return datetime.datetime.strptime(it, "%Y-%m-%dT%H:%M:%S.%fZ").isoformat("T", "milliseconds") + "Z" == it
def date(it): return time(it + "T00:00:00.000Z")
def body(it): return members(type=a(str), count=integer(), head=sha256, **BODIES.get(it["type"], {}))(it)

BODIES = {"genesis": {"note": a(str)}, "session": {"note": a(str), "session": date},
    "daily": {"date": date, "head_seq": integer(), "verify_ok": a(bool)},
    "recovery": {"abandoned_seq": integer(1), "abandoned_hash": sha256, "note": a(str)}}
DOCUMENT = members(v=integer(1, 1), seq=integer(1), kind=a(str), ts=time, city_day=integer(), book=a(str | None),
    actor=members(agent=a(str), seat=a(str)), prev_hash=sha256, refs=a(list), evidence=a(dict), body=body)
FAULTS = {UnicodeDecodeError: "not_utf8", json.JSONDecodeError: "not_json", RecursionError: "not_canonical"}

def verify(vector):
    last = {"seq": 0, "hash": "0" * 64, "ts": ""} | vector.get("previous", {})
    hashes = {}
    for claim in vector["receipts"]:
        data = claim["canonical"].encode() if "canonical" in claim else base64.b64decode(claim["canonical_base64"])
        seq, digest = last["seq"] + 1, hashlib.sha256(data).hexdigest()
        if claim.get("seq", seq) != seq: return seq, "gap" if claim["seq"] > seq else "repeat"
        if claim.get("hash", digest) != digest: return seq, "wrong_hash"
        try:
            it = json.loads(data.decode(), parse_int=float, parse_constant=lambda nan: json.loads(""))  # fails
            if canonical(it).encode("utf-8", "surrogatepass") != data: return seq, "not_canonical"
            if not DOCUMENT(it) or (it["body"]["type"] == "genesis") != (it["seq"] == 1): return seq, "bad_document"
        except (KeyError, RecursionError, TypeError, ValueError) as e: return seq, FAULTS.get(type(e), "bad_document")
        if it["seq"] != seq: return seq, "gap" if it["seq"] > seq else "repeat"
        if not it["prev_hash"] == last["hash"] == claim.get("prev_hash", last["hash"]): return seq, "wrong_prev_hash"
        if it["body"]["count"] != seq - 1: return seq, "wrong_count"
        if it["body"]["type"] == "daily" and it["body"]["head_seq"] != seq - 1: return seq, "wrong_count"
        if it["body"]["head"] != last["hash"]: return seq, "wrong_head"
        if it["ts"] < last["ts"]: return seq, "wrong_ts"
        if it["body"]["type"] == "recovery" and it["body"]["abandoned_hash"] in (
                last["hash"], hashes.get(it["body"]["abandoned_seq"])): return seq, "wrong_recovery"
        last = {"seq": seq, "hash": digest, "ts": it["ts"]}
        hashes[seq] = digest
    head = last | vector.get("head", {})
    if last["seq"] < head["seq"]: return last["seq"] + 1, "truncated"
    if last["seq"] > head["seq"]: return head["seq"] + 1, "beyond_head"
    if last["hash"] != head["hash"]: return last["seq"], "wrong_hash"

for path in sys.argv[1:]:
    finding = verify(json.loads(pathlib.Path(path).read_bytes()))
    print(json.dumps({"ok": False, "seq": finding[0], "fault": finding[1]} if finding else {"ok": True}))
