/** Node's crypto, if there is one. Bundlers for browsers ignore this way of loading it. */
const runtime = (globalThis as { process?: { getBuiltinModule?(name: string): unknown } }).process;
const node = runtime?.getBuiltinModule?.("node:crypto") as { hash?: NodeHash } | undefined;
interface NodeHash {
  (algorithm: "sha256", bytes: Uint8Array, encoding: "hex"): string;
  (algorithm: "sha256", bytes: Uint8Array, encoding: "binary"): string;
}

/** SHA-256 in lower-case hexadecimal: synchronously if the runtime can, which is ten times as fast; else by WebCrypto. */
export const sha256: (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string> = hashWith(node?.hash);

function hashWith(hash: NodeHash | undefined): typeof sha256 {
  return hash === undefined ? webSha256 : (bytes) => hash("sha256", bytes, "hex");
}

/** SHA-256 in lower-case hexadecimal by WebCrypto, which every runtime has. */
export async function webSha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Array.from(await webDigest(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** SHA-256 as 32 bytes, computed like `sha256`. */
export const sha256Bytes: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array> =
  node?.hash === undefined ? webDigest : digestWith(node.hash);

/** A binary string is the quickest way to the bytes: Node.js would otherwise allocate a buffer for each hash. */
function digestWith(hash: NodeHash): (bytes: Uint8Array) => Uint8Array {
  const { Buffer } = globalThis as unknown as { Buffer: { from(text: string, encoding: "binary"): Uint8Array } };
  return (bytes) => Buffer.from(hash("sha256", bytes, "binary"), "binary");
}

async function webDigest(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
