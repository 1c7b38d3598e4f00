import { entriesOf } from "../support/log.ts";
import type { Agent, Moderated } from "../support/moderation.ts";

/** How an agent of a service ends, and what that leaves in its database. */
export function endsOn(service: Moderated) {
  return {
    remove: ({ key }: Agent, query = "", on = service, headers = {}) =>
      on.rest(`agents/me${query}`, { method: "DELETE", key, headers }),
    async idOf({ name }: Agent): Promise<number> {
      const sql = "SELECT id FROM agents WHERE name_key = ?";
      return (await service.db.rows<{ id: number }>(sql, [name.toLowerCase()]))[0]?.id as number;
    },
    unfinished: () => service.db.rows("SELECT item, item_id FROM unfinished_removals"),
    /** The entries of the log for the deletion of these. */
    async deletionsOf(kind: string, ids: readonly number[]) {
      const entries = await entriesOf(service.db);
      return entries.filter(({ type, of, id }) => type === "deletion" && of === kind && ids.includes(id));
    },
  };
}
