// The RPCs that REST does not have, the operator's above all, with messages that are bent out of shape. The others are tried over
// REST (rest-properties.test.ts).
import { type DescMethod, fromJsonString, hasOption, toBinary } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { expect, it } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { operatorToken } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { jsonBodies } from "./properties/bodies.ts";
import { exchange } from "./properties/raw-http.ts";
import { runs } from "./properties/runs.ts";
import { counted, makeWorld } from "./properties/world.ts";

const service = await startService({ config: { ...counted, operatorToken } });
const rpcs = (await contractServices()).flatMap(({ methods }) => methods).filter((rpc) => !hasOption(rpc, http));

/** What the fault of a caller may be. */
const codes = ["invalid_argument", "not_found", "already_exists", "permission_denied", "resource_exhausted"];

/** A message in JSON, and in binary form; where the JSON says nothing, any bytes. */
function messages(rpc: DescMethod, json: Arbitrary<string>): Arbitrary<{ encoding: "json" | "proto"; body: Buffer }> {
  const binary = fc.tuple(json, fc.uint8Array({ maxLength: 60 })).map(([text, random]) => {
    try {
      const message = fromJsonString(rpc.input, Buffer.from(text, "latin1").toString(), { ignoreUnknownFields: true });
      return Buffer.concat([toBinary(rpc.input, message), random.length > 40 ? random : Buffer.alloc(0)]);
    } catch {
      return Buffer.from(random);
    }
  });
  return fc.oneof(
    json.map((text) => ({ encoding: "json" as const, body: Buffer.from(text, "latin1") })),
    binary.map((body) => ({ encoding: "proto" as const, body })),
  );
}

it.each(rpcs.map((rpc) => ({ name: `${rpc.parent.name}.${rpc.name}`, rpc })))(
  "a call of $name that is bent out of shape is answered, and is no fault of the service",
  async ({ name, rpc }) => {
    const { known } = await makeWorld(service);
    const reason = ["MODERATION_REASON_SPAM", "MODERATION_REASON_SECRET"];
    const more = { post_id: known.id ?? [], comment_id: known.parent_id ?? [], reason, session: ["2026-01-02"] };
    await fc.assert(
      fc.asyncProperty(
        messages(rpc, jsonBodies(rpc.input.fields, { ...known, ...more })),
        async ({ encoding, body }) => {
          const reply = await exchange(service.url, {
            method: "POST",
            target: `/${rpc.parent.typeName}/${rpc.name}`,
            headers: [
              ["Host", "127.0.0.1"],
              ["Authorization", `Bearer ${operatorToken}`],
              ["Content-Type", `application/${encoding}`],
              ["Content-Length", String(body.length)],
            ],
            body,
            isCutOff: false,
          });
          const text = reply?.body.toString() ?? "";
          if (reply?.status !== 200) expect(codes, text).toContain(JSON.parse(text).code);
          expect(service.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
        },
      ),
      { ...runs(name, 12), endOnFailure: false, timeout: 30_000 },
    );
  },
);

it("leaves every counter right, and a chain that verifies", async () => {
  expect(await recount(service.db)).toEqual([]);
  expect((await service.rest("/house/verify")).body.verify_ok).toBe(true);
});
