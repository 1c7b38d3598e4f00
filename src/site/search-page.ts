import { SearchService, SearchType } from "../../gen/stoa/v1/search_service_pb.js";
import { StoaError } from "../errors.ts";
import { decodeQuery } from "../transcoding/index.ts";
import type { PageContext } from "./page-context.ts";
import { pickParameters, toSearch } from "./page-url.ts";
import { searchView } from "./views/search.ts";

const parameters = ["q", "type", "community", "author", "sort", "cursor"];
/** How many results the pages before had. Only this page knows it. */
const seenName = "seen";

/** Adds the page of the search. Without words it shows the form only. */
export function addSearchPage({ add, read, now, show }: PageContext): void {
  const search = read(SearchService.method.search);

  add("/search", async (request) => {
    // A form also sends its empty fields.
    const query = pickParameters(request, parameters).filter(([, value]) => value !== "");
    const [, typed] = query.find(([name]) => name === "q") ?? [];
    if (typed === undefined) return show(request, searchView({ q: "", type: SearchType.POSTS }, undefined, now()));
    try {
      const { input, output } = await search(request, { query });
      const [[, seenText] = []] = input.cursor === undefined ? [] : pickParameters(request, [seenName]);
      const seen = /^\d{1,7}$/.test(seenText ?? "") ? Number(seenText) : undefined;
      const page = searchView({ ...input, type: input.type ?? SearchType.POSTS, seen }, output, now());
      return show(request, { ...page, json: `/api/v1/search${toSearch(query)}` });
    } catch (error) {
      if (!(error instanceof StoaError) || error.code !== "bad_input" || error.field !== "q") throw error;
      // Somebody who typed something without words gets the form back.
      const q = decodeQuery(typed) ?? "";
      return show(request, searchView({ q, type: SearchType.POSTS }, undefined, now(), error.message));
    }
  });
}
