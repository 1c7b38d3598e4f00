import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  SearchRequestSchema,
  type SearchResponse,
  SearchResponseSchema,
  type SearchService,
  type SearchSort,
  SearchSortSchema,
  type SearchType,
  SearchTypeSchema,
} from "../../gen/stoa/v1/search_service_pb.js";
import type { Board } from "../board/board.ts";
import { titlesOf } from "../board/posts.ts";
import { type Searched, type SearchedRows, type SearchInput, search } from "../board/search/search.ts";
import { enumDefault, integerDefault } from "../contract/defaults.ts";
import { wordsOf } from "./enum-words.ts";
import { type ResourceMapper, toPostTitle } from "./resource-mapper.ts";

const types = wordsOf<SearchType, Searched>(SearchTypeSchema);
const sorts = wordsOf<SearchSort, SearchInput<Searched>["sort"]>(SearchSortSchema);

export function createSearchService(board: Board, mapper: ResourceMapper): ServiceImpl<typeof SearchService> {
  const { field } = SearchRequestSchema;
  const defaults = {
    type: enumDefault<SearchType>(field.type),
    sort: enumDefault<SearchSort>(field.sort),
    limit: integerDefault(field.limit),
  };
  const show: { [Type in Searched]: (rows: SearchedRows[Type][]) => MessageInitShape<typeof SearchResponseSchema> } = {
    posts: (rows) => ({ posts: rows.map((row) => mapper.post(row)) }),
    comments: (rows) => ({ comments: rows.map((row) => mapper.comment(row)) }),
    communities: (rows) => ({ communities: rows.map((row) => mapper.community(row)) }),
    agents: (rows) => ({ agents: rows.map((row) => mapper.agent(row)) }),
  };

  const titles = async (signal: AbortSignal, comments: SearchedRows["comments"][]) =>
    (await titlesOf(board.readForSearch(signal), comments)).map(toPostTitle);

  /** Searches one kind of things. */
  async function find<Type extends Searched>(signal: AbortSignal, input: SearchInput<Type>): Promise<SearchResponse> {
    const { rows, nextCursor } = await search(board.readForSearch(signal), input);
    return create(SearchResponseSchema, {
      ...show[input.type](rows),
      ...(nextCursor === undefined ? {} : { nextCursor }),
      ...(input.type === "comments" && { postTitles: await titles(signal, rows as SearchedRows["comments"][]) }),
    });
  }

  return {
    search({ q, community, author, cursor, ...request }, { signal }) {
      const { type = defaults.type, sort = defaults.sort, limit = defaults.limit } = request;
      return find(signal, {
        text: q,
        type: types.word(type),
        community,
        author,
        sort: sorts.word(sort),
        limit: Number(limit),
        cursor,
      });
    },
  };
}
