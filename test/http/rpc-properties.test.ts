// Every RPC of the contract over the Connect protocol, with messages that are bent out of shape.
import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Access, access, idempotent_by_key } from "../../gen/stoa/v1/options_pb.js";
import { rulesOf } from "../../src/contract/rules.ts";
import { operatorToken } from "../ledger/support.ts";
import { recount, rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { allServices } from "./properties/contract.ts";
import { exchange } from "./properties/raw-http.ts";
import { callOf, checkCall } from "./properties/rpc.ts";
import { runs } from "./properties/runs.ts";
import { counted, makeWorld } from "./properties/world.ts";

const service = await startService({ config: { ...counted, operatorToken } });
/** For all calls that only read. */
const readWorld = await makeWorld(service);
const rpcs = (await allServices()).flatMap(({ methods }) => methods);
const cases = rpcs.map((rpc) => ({ name: `${rpc.parent.name}.${rpc.name}`, rpc }));

const tables: { [type: string]: string } = {
  Agent: "agents",
  Community: "communities",
  Post: "posts",
  Comment: "comments",
};

/** The table that has a row more after a create. */
function tableOf({ output }: DescMethod, message: Message): string | undefined {
  const made = output.fields.find(({ message: type, localName }) => {
    return type !== undefined && (message as Message & Record<string, unknown>)[localName] !== undefined;
  });
  return tables[made?.message?.name ?? ""];
}

describe("a call that is bent out of shape", () => {
  it.each(cases)("of $name gets a documented reply, and changes nothing but what it acknowledges", async ({ rpc }) => {
    const world = rulesOf(rpc).isWrite ? await makeWorld(service) : readWorld;
    const keys = getOption(rpc, access) === Access.OPERATOR ? [operatorToken] : world.keys;
    const before = await rowCounts(service.db);
    const made: Record<string, number> = {};
    const calls = fc.oneof(
      ...(["json", "proto"] as const).map((encoding) =>
        callOf(rpc, encoding, { ...world, keys }).map((request) => ({ encoding, request })),
      ),
    );
    await fc.assert(
      fc.asyncProperty(calls, async ({ encoding, request }) => {
        const reply = await exchange(service.url, request);
        const message = checkCall(rpc, encoding, request, reply);
        expect(service.log.filter(({ level }) => (level as number) >= 50)).toEqual([]);
        // Of the calls that take an idempotency key, these make a row.
        const makesRow = /^(Register|Rotate|Create|Seal)/.test(rpc.name) && getOption(rpc, idempotent_by_key);
        if (message === undefined || !makesRow || reply?.headers.has("idempotency-replayed")) return;
        const table = tableOf(rpc, message);
        if (table !== undefined) made[table] = (made[table] ?? 0) + 1;
      }),
      runs(rpc.methodKind === "unary" ? 12 : 8),
    );
    const after = await rowCounts(service.db);
    for (const [table, n] of Object.entries(after)) {
      if (!["votes", "comment_votes"].includes(table))
        expect([table, n - (before[table] ?? 0)]).toEqual([table, made[table] ?? 0]);
    }
  });

  it("leaves every counter right", async () => expect(await recount(service.db)).toEqual([]));
});
