// Every way to call the service over REST, with requests that are bent out of shape. fast-check prints seed and path of a
// counterexample; `fc.assert(…, { seed, path })` runs it again.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recount, rowCounts } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { allBindings } from "./properties/contract.ts";
import { checkReply } from "./properties/oracle.ts";
import { exchange } from "./properties/raw-http.ts";
import { requestFor } from "./properties/requests.ts";
import { runs } from "./properties/runs.ts";
import { checkStored, counted, makeWorld } from "./properties/world.ts";

const service = await startService({ config: counted });
const bindings = await allBindings();
/** For all calls that only read. */
const readWorld = await makeWorld(service);

const errors = () => service.log.filter(({ level }) => (level as number) >= 50);

describe("a request that is bent out of shape", () => {
  it.each(bindings.map((binding) => ({ name: `${binding.method} ${binding.template}`, binding })))(
    "to $name gets a documented reply, and changes nothing but what it acknowledges",
    async ({ name, binding }) => {
      const world = binding.method === "GET" ? readWorld : await makeWorld(service);
      const before = await rowCounts(service.db);
      const made: Record<string, number> = {};
      await fc.assert(
        fc.asyncProperty(requestFor(binding, world), async (request) => {
          const reply = await exchange(service.url, request);
          const success = checkReply(binding, request, reply);
          expect(errors()).toEqual([]);
          if (success === undefined || reply === undefined) return;
          const table = await checkStored(service, request, reply, success);
          if (table !== undefined) made[table] = (made[table] ?? 0) + 1;
        }),
        // A request without a reply is shown as a counterexample.
        { ...runs(name, binding.hasBody ? 12 : 6), endOnFailure: false, timeout: 30_000 },
      );
      const after = await rowCounts(service.db);
      const more = Object.entries(after).map(([table, n]) => [table, n - (before[table] ?? 0)] as const);
      const expected = Object.keys(after).map((table) => [table, made[table] ?? 0]);
      // A vote may be new or not.
      const isCounted = ([table]: readonly [string, number] | (string | number)[]) => !/votes$/.test(String(table));
      expect(more.filter(isCounted)).toEqual(expected.filter(isCounted));
    },
  );

  it("leaves every counter right", async () => expect(await recount(service.db)).toEqual([]));
});
