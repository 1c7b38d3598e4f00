"""Tiles and bundles"""
import re
from .tree import half, mth, node
from .words import MOST, need, sha256

def tile_path(path):
    pattern = r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?"
    match = re.fullmatch(pattern, path, re.ASCII)
    need(match, "bad_tile_path")
    level, groups, width = match.groups()
    index = int(re.sub("[x/]", "", groups))
    need(not groups.startswith("x000/") and index <= MOST, "bad_tile_path")
    need(level == "entries" or int(level) < 64, "bad_tile_path")
    need(width is None or int(width) < 256, "bad_tile_path")
    return {"level": level if level == "entries" else int(level), "index": index, "width": int(width or 256)}

def path_of(level, index, width):
    digits = str(index).zfill(-(-len(str(index)) // 3) * 3)
    groups = re.findall("...", digits)
    return f"tile/{level}/" + "/".join(["x" + group for group in groups[:-1]] + groups[-1:]) + (f".p/{width}" if width < 256 else "")

class Tiles:
    """The hashes of a tree from its tiles, each verified before it is used."""
    def __init__(self, size, root, files):
        self.size, self.files, self.good = size, files, {}
        hashes = []
        for level in reversed(range(7)):
            count = size // 256**level
            if count % 256: hashes += self.subtrees(self.read(level, count // 256, count % 256), count % 256)
        top = hashes.pop() if hashes else sha256()
        while hashes: top = node(hashes.pop(), top)
        need(top == root, "wrong_tile")

    def subtrees(self, hashes, width):
        """The roots of the perfect subtrees of a partial tile, the largest first."""
        roots, at = [], 0
        for bit in reversed(range(8)):
            if width >> bit & 1:
                roots.append(mth(hashes[at:at + 2**bit]))
                at += 2**bit
        return roots

    def read(self, level, index, width):
        data = self.files[path_of(level, index, width)]
        need(len(data) == 32 * width, "bad_tile")
        return [data[at:at + 32] for at in range(0, len(data), 32)]

    def tile(self, level, index):
        width = min(self.size // 256**level - index * 256, 256)
        if (level, index) not in self.good:
            hashes = self.read(level, index, width)
            if width == 256: need(mth(hashes) == self.tile(level + 1, index // 256)[index % 256], "wrong_tile")
            self.good[level, index] = hashes
        return self.good[level, index]

    def range(self, begin, end):
        """MTH of a part of the tree."""
        n, level = end - begin, 0
        if n == 1: return self.tile(0, begin // 256)[begin % 256]
        while 256**(level + 1) <= n: level += 1
        if n == 256**level: return self.tile(level, begin // n // 256)[begin // n % 256]
        return node(self.range(begin, begin + half(n)), self.range(begin + half(n), end))

    def path(self, m, begin, end):
        if end - begin == 1: return []
        k = begin + half(end - begin)
        if m < k: return self.path(m, begin, k) + [self.range(k, end)]
        return self.path(m, k, end) + [self.range(begin, k)]

def bundle(data, width):
    entries, at = [], 0
    for _ in range(width):
        need(at + 2 <= len(data), "bad_bundle")
        end = at + 2 + int.from_bytes(data[at:at + 2], "big")
        need(end <= min(len(data), at + 2 + 1024), "bad_bundle")
        entries.append(data[at + 2:end])
        at = end
    need(at == len(data), "bad_bundle")
    return entries
