// The reference for the ledger: a route for one receipt and a simple loop over the chain, hand-written with Fastify and mysql2.
// They use the service's statements and pool settings. This program imports nothing from src/.
import { hash as digest } from "node:crypto";
import { type FastifyRequest, fastify } from "fastify";
import { execute, openPool } from "../baseline/database.ts";

interface Receipt {
  seq: number;
  hash: string;
  prev_hash: string;
  canonical: Buffer;
}

const { BASELINE_DATABASE_URL, BASELINE_CONNECTIONS, BASELINE_SITE_URL } = process.env;
const site = BASELINE_SITE_URL as string;
const pool = openPool(BASELINE_DATABASE_URL as string, Number(BASELINE_CONNECTIONS));
const app = fastify();

// The service also reads the newest receipt that was served, so that it notices a chain that was replaced.
const one = `SELECT seq, hash, prev_hash, canonical, (SELECT hash FROM receipts WHERE seq = ?) AS other_hash
  FROM receipts WHERE seq IN (?)`;
const [head] = await execute<{ seq: number }[]>(pool, "SELECT seq FROM ledger_head", []);
const many = "SELECT seq, hash, prev_hash, canonical FROM receipts WHERE seq >= ? ORDER BY seq LIMIT ?";
const seqParam = { type: "object", required: ["seq"], properties: { seq: { type: "integer", minimum: 1 } } };
const portionQuery = {
  type: "object",
  required: ["portion"],
  properties: { portion: { type: "integer", minimum: 1 } },
};

app.get("/api/v1/house/receipts/:seq", { schema: { params: seqParam } }, async (request, reply) => {
  const { seq } = request.params as { seq: number };
  const [row] = await execute<Receipt[]>(pool, one, [head?.seq ?? 1, seq]);
  if (row === undefined) return reply.code(404).send({ ok: false, error: "not_found" });
  const text = row.canonical.toString("utf8");
  const document = JSON.parse(text);
  const url = `${site}/house/receipts/${seq}`;
  const sum = "sha256sum | cut -d' ' -f1";
  const bytes = `curl -s '${site}/api/v1/house/receipts/${seq}/canonical'`;
  const prev =
    seq === 1 ? "printf '%064d\\n' 0" : `curl -s '${site}/api/v1/house/receipts/${seq - 1}/canonical' | ${sum}`;
  reply.header("etag", `"${sha256(`${row.hash} ${url}`)}"`);
  reply.header("cache-control", "public, max-age=31536000, immutable");
  return {
    ok: true,
    receipt: {
      seq,
      ref: `r:${seq}`,
      kind: document.kind,
      hash: row.hash,
      prev_hash: row.prev_hash,
      document,
      canonical: text,
      url,
      api_url: `${site}/api/v1/house/receipts/${seq}`,
      canonical_url: `${site}/api/v1/house/receipts/${seq}/canonical`,
    },
    verify: {
      rebuild: `curl -s '${site}/api/v1/house/receipts/${seq}' | jq -cS .receipt.document | tr -d '\\n' | ${sum}`,
      bytes: `${bytes} | ${sum}`,
      chain: `test "$(${bytes} | jq -r .prev_hash)" = "$(${prev})" && echo true || echo false`,
      prev,
      expect: row.hash,
    },
  };
});

/** Reads all receipts, `portion` at a time, and checks only their hashes. */
app.get("/bare-loop", { schema: { querystring: portionQuery } }, async (request: FastifyRequest) => {
  const { portion } = request.query as { portion: number };
  let count = 0;
  for (;;) {
    const rows = await execute<Receipt[]>(pool, many, [count + 1, String(portion)]);
    for (const { hash, canonical } of rows) {
      if (sha256(canonical) !== hash) throw new Error(`Receipt ${count + 1} has a wrong hash.`);
      count += 1;
    }
    if (rows.length === 0) return { count };
  }
});

function sha256(data: string | Buffer): string {
  return digest("sha256", data, "hex");
}

process.stdout.write(`The hand-written routes answer at ${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
process.on("SIGTERM", () => void app.close().then(() => pool.end()));
