"""Words and numbers"""
import base64, datetime, decimal, hashlib, json, re

class Fault(Exception): pass

def need(condition, fault):
    if not condition: raise Fault(fault)

def sha256(*parts): return hashlib.sha256(b"".join(parts)).digest()

MOST = 2**53 - 1

def text(data, fault):
    try: return data.decode("utf-8")
    except UnicodeDecodeError: raise Fault(fault)

def integer(digits, fault):
    need(re.fullmatch("0|[1-9][0-9]{0,15}", digits) and int(digits) <= MOST, fault)
    return int(digits)

def from_base64(letters, fault, length=None):
    try: data = base64.b64decode(letters.encode("ascii"), validate=True)
    except ValueError: raise Fault(fault)
    need(base64.b64encode(data).decode() == letters and length in (None, len(data)), fault)
    return data

def canonical(value, level=0):
    if level > 200: raise ValueError
    if isinstance(value, list): return "[" + ",".join(canonical(each, level + 1) for each in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name], level + 1) for name in names) + "}"
    if isinstance(value, str): value.encode()  # fails for half of a character
    if not isinstance(value, float): return json.dumps(value, ensure_ascii=False)
    if value in (float("inf"), float("-inf")): raise ValueError
    return format(decimal.Decimal(repr(value or 0)).normalize(), "f" if 1e-6 <= abs(value or 1) < 1e21 else "e")

def read(document, fault):
    """The object of a text that is canonical JSON. All numbers are doubles."""
    try:
        value = json.loads(document, parse_int=float, parse_constant=lambda nan: json.loads(""))
        need(canonical(value) == document and isinstance(value, dict), fault)
    except (ValueError, RecursionError): raise Fault(fault)
    return value

def is_integer(value, least=0): return isinstance(value, float) and value % 1 == 0 and least <= value <= MOST
def is_id(value): return is_integer(value, 1)
def is_string(value): return isinstance(value, str)
def is_hash(value): return is_string(value) and re.fullmatch("[0-9a-f]{64}", value)
def is_word(value): return is_string(value) and re.fullmatch("[a-z][a-z_]{0,31}", value)
def or_null(check): return lambda value: value is None or check(value)
def has(members, value): return all(name in value and check(value[name]) for name, check in members.items())

def is_time(value):
    if not is_string(value): return False
    try: return datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").isoformat("T", "milliseconds") + "Z" == value
    except ValueError: return False
