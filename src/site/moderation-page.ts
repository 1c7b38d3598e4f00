import { ModerationRecordService } from "../../gen/stoa/v1/moderation_record_service_pb.js";
import type { PageContext } from "./page-context.ts";
import { pickParameters, toSearch } from "./page-url.ts";
import { moderationsView } from "./views/moderations.ts";

const filters = ["act", "role", "reason", "item", "item_id", "moderator"];
const actsPerPage = 50n;

/** Adds the page of the public record of moderation. */
export function addModerationPage({ add, read, now, show }: PageContext): void {
  const listModerations = read(ModerationRecordService.method.listModerations);

  add("/moderations", async (request) => {
    const query = pickParameters(request, [...filters, "cursor"]);
    const { input, output } = await listModerations(request, { query, fields: { limit: actsPerPage } });
    const page = moderationsView(output.moderations, input, output.nextCursor, now());
    return show(request, { ...page, json: `/api/v1/moderations${toSearch(query)}` });
  });
}
