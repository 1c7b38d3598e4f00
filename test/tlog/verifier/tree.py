"""The tree"""
from .words import need, sha256

def leaf(entry): return sha256(b"\0", entry)
def node(left, right): return sha256(b"\1", left, right)

def half(n):
    k = 1
    while 2 * k < n: k *= 2
    return k

def mth(leaves):
    if not leaves: return sha256()
    if len(leaves) == 1: return leaves[0]
    return node(mth(leaves[:half(len(leaves))]), mth(leaves[half(len(leaves)):]))

def climb(hash, m, n, proof):
    """The root to which the last hashes of `proof` lead from entry m of n."""
    if n == 1:
        need(not proof, "not_included")
        return hash
    need(proof, "not_included")
    k = half(n)
    if m < k: return node(climb(hash, m, k, proof[:-1]), proof[-1])
    return node(proof[-1], climb(hash, m - k, n - k, proof[:-1]))

def check_inclusion(hash, m, n, proof, root):
    need(0 <= m < n and climb(hash, m, n, proof) == root, "not_included")

def both_roots(m, n, proof, older):
    """The older and the newer root. `older` is the known root of the first m entries, where they are a part of the tree."""
    if m == n:
        need(len(proof) == (older is None), "not_consistent")
        return (older or proof[0],) * 2
    need(proof, "not_consistent")
    k = half(n)
    if m <= k:
        one, other = both_roots(m, k, proof[:-1], older)
        return one, node(other, proof[-1])
    one, other = both_roots(m - k, n - k, proof[:-1], None)
    return node(proof[-1], one), node(proof[-1], other)

def check_consistency(m, older, n, newer, proof):
    need(0 < m <= n and both_roots(m, n, proof, older) == (older, newer), "not_consistent")
