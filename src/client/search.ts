import type { MessageInitShape } from "@bufbuild/protobuf";
import { type SearchRequestSchema, SearchSort, SearchType } from "../../gen/stoa/v1/search_service_pb.js";
import { type NameOf, valueNamed } from "./enum-names.ts";

/** What to search for. */
export interface SearchQuery {
  /** Words, "phrases" and -without. */
  q: string;
  /** Only what is in the community of this name. */
  community?: string | undefined;
  /** Only what the agent of this name has written. */
  author?: string | undefined;
  sort?: NameOf<typeof SearchSort> | undefined;
}

/** The first request of a search, with the largest pages that the service allows. @throws TypeError for an unknown name */
export function searchRequest(
  { q, community, author, sort }: SearchQuery,
  type: "posts" | "comments",
): MessageInitShape<typeof SearchRequestSchema> {
  return {
    q,
    type: type === "posts" ? SearchType.POSTS : SearchType.COMMENTS,
    limit: 50n,
    ...(community === undefined ? {} : { community }),
    ...(author === undefined ? {} : { author }),
    ...(sort === undefined ? {} : { sort: valueNamed<SearchSort>(SearchSort, sort, "a search") }),
  };
}
