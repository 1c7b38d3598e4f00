"""Checks the vectors as src/tlog/FORMAT.md says, and shares no code with the service: verify.py FOLDER"""
import base64, json, pathlib, sys

sys.dont_write_bytecode = True
from verifier.entries import content, entry
from verifier.notes import checkpoint, policy, vkey
from verifier.proofs import verify_item
from verifier.tiles import Tiles, bundle, tile_path
from verifier.tree import check_consistency, check_inclusion, leaf, mth
from verifier.words import Fault, sha256

def b64(data): return base64.b64encode(data).decode()
def unb64(letters): return base64.b64decode(letters)
def data_of(given, name): return unb64(given[name + "_base64"]) if name + "_base64" in given else given[name].encode()
def hashes_of(letters): return [unb64(each) for each in letters]

def check_content(kind, content_, salt):
    content(kind, content_)
    return {"commitment": sha256(bytes.fromhex(salt), content_.encode()).hex()}

def check(what, given):
    if what == "root": return {"root": b64(mth([leaf(each.encode()) for each in given["entries"]]))}
    if what == "inclusion":
        hash, proof_, root = leaf(data_of(given, "entry")), hashes_of(given["proof"]), unb64(given["root"])
        return check_inclusion(hash, given["index"], given["size"], proof_, root)
    if what == "consistency":
        older, newer = given["older"], given["newer"]
        roots = unb64(older["root"]), unb64(newer["root"])
        return check_consistency(older["size"], roots[0], newer["size"], roots[1], hashes_of(given["proof"]))
    if what == "tile_path": return tile_path(given["path"])
    if what == "tiles":
        files = {path: unb64(data) for path, data in given["tiles"].items()}
        tiles = Tiles(given["size"], unb64(given["root"]), files)
        return {"proof": [b64(hash) for hash in tiles.path(given["index"], 0, given["size"])]}
    if what == "bundle": return {"entries": [b64(each) for each in bundle(unb64(given["bundle"]), given["width"])]}
    if what == "vkey":
        name, id, public = vkey(given["vkey"])
        return {"name": name, "id": id, "public_key": b64(public)}
    if what == "checkpoint":
        origin, size, root = checkpoint(data_of(given, "note"), given["vkey"])
        return {"origin": origin, "size": size, "root": b64(root)}
    if what == "policy": return {"logs": [{"vkey": key, "url": url} for key, url, _ in policy(data_of(given, "policy"))]}
    if what == "entry": return {"type": entry(data_of(given, "entry"))["type"]}
    if what == "content": return check_content(given["kind"], given["content"], given["salt"])
    if what == "item": return verify_item(data_of(given, "proof"), given["vkey"], given["item"])
    raise LookupError(what)

outcomes, folder = {}, pathlib.Path(sys.argv[1])
for path in folder.glob("*/*.json"):
    vector = json.loads(path.read_bytes())
    try: outcome = {"ok": True, **(check(vector["check"], vector["input"]) or {})}
    except Fault as fault: outcome = {"ok": False, "fault": str(fault)}
    outcomes[str(path.relative_to(folder))] = outcome
print(json.dumps(outcomes))
