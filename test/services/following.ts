import { expect } from "vitest";
import { type Agent, startModerated } from "../support/moderation.ts";
import type { ServiceOptions } from "../support/service.ts";

/** A service with an agent that writes, and readers that follow. */
export async function startFollowing(options?: ServiceOptions) {
  const service = await startModerated(options);
  const writer = await service.register("Writer");
  let turn = 0;
  return {
    service,
    writer,
    /** A reader that no other test uses, and a community. */
    async fresh(): Promise<{ reader: Agent; community: string }> {
      turn += 1;
      const community = `place-${turn}`;
      await service.found(writer, community);
      return { reader: await service.register(`Reader${turn}`), community };
    },
    follow: (path: string, { key }: Agent, method = "PUT") => service.rest(`subscriptions/${path}`, { key, method }),
    async inboxOf({ key }: Agent, query = "") {
      const { status, body } = await service.rest(`agents/me/inbox?limit=100${query}`, { key });
      expect(status).toBe(200);
      return body.items;
    },
  };
}
