// What is timed on each board. A case makes the same call on every board, for items that every board has.
import { randomUUID } from "node:crypto";
import { dateOf } from "../../src/ledger/calendar.ts";
import {
  busyAgents,
  communityName,
  discussedPost,
  keyOf,
  type Population,
  searchedWords,
  textOf,
} from "../population.ts";
import type { GrowthRequest } from "./client.ts";

/** The token of the operator in the services of this bench. */
export const operatorToken = "bench-operator-token-of-32-characters-or-more";

/** A board under test. */
export interface Board {
  population: Population;
  /** Makes a call that is not timed. */
  call(request: GrowthRequest): Promise<string>;
}

export interface GrowthCase {
  name: string;
  kind: "read" | "write";
  /**
   * Makes the request of a call. It may make other calls first, such as the post that is to be removed.
   * @param seed a number that differs between calls, and is the same on each board
   */
  request(board: Board, seed: number): GrowthRequest | Promise<GrowthRequest>;
}

const [one, two] = searchedWords;
/** The newest posts are read most. */
const recentPosts = 1_000;
/** The author of what the cases of one agent read. */
const writer = (board: Board) => board.population.agents;
/** Agents that write, by turns. */
const busy = ({ population: { agents } }: Board, seed: number) => agents - 1 - (seed % (busyAgents - 1));
const random = (below: number) => Math.floor(Math.random() * below);
const anyPost = ({ population: { posts } }: Board) => 1 + random(posts);
const recentPost = ({ population: { posts } }: Board) => posts - random(recentPosts);
const anyDiscussed = ({ population }: Board) => discussedPost(random(population.discussed), population);
const comments = ({ population: { discussed, commentsEach } }: Board) => discussed * commentsEach;

const get = (path: string, key?: string): GrowthRequest => ({ method: "GET", path, ...(key && { key }) });
const post = (path: string, key: string, body: object = {}): GrowthRequest => ({ method: "POST", path, key, body });
const read = (name: string, path: string | ((board: Board) => string)): GrowthCase => ({
  name,
  kind: "read",
  request: (board) => get(typeof path === "string" ? path : path(board)),
});
const search = (name: string, query: Record<string, string>) =>
  read(`search: ${name}`, `/api/v1/search?${new URLSearchParams(query)}`);
const write = (name: string, request: GrowthCase["request"]): GrowthCase => ({ name, kind: "write", request });

/** A page after others, by the cursor of the page before. */
function furtherPage(name: string, path: string, pages: number): GrowthCase {
  const cursors = new Map<Board, string>();
  const further = async (board: Board) => {
    let cursor: string | undefined;
    for (let page = 0; page < pages; page++) {
      const reply = await board.call(get(cursor === undefined ? path : `${path}&cursor=${cursor}`));
      cursor = encodeURIComponent(JSON.parse(reply).next_cursor);
    }
    return cursor as string;
  };
  return {
    name,
    kind: "read",
    async request(board) {
      if (!cursors.has(board)) cursors.set(board, await further(board));
      return get(`${path}&cursor=${cursors.get(board)}`);
    },
  };
}

/** A read of what the writer has written, which has the same length on each board. */
function ofWriter(name: string, path: string, write: (board: Board, seed: number) => GrowthRequest): GrowthCase {
  const prepared = new Set<Board>();
  return {
    name,
    kind: "read",
    async request(board) {
      if (!prepared.has(board)) for (let seed = 0; seed < 25; seed++) await board.call(write(board, seed));
      prepared.add(board);
      return get(`/api/v1/agents/bench-agent-${writer(board)}/${path}`);
    },
  };
}

const newPost = (agent: number, seed: number) =>
  post("/api/v1/posts", keyOf(agent), {
    title: textOf(seed + 7, 50),
    body: textOf(seed, 300),
    community: communityName(1 + (seed % 200)),
  });
const newComment = (agent: number, id: number, seed: number) =>
  post(`/api/v1/posts/${id}/comments`, keyOf(agent), { body: textOf(seed, 200) });
const idOf = (text: string, kind: "post" | "comment"): number => JSON.parse(text)[kind].id;
const makePost = async (board: Board, agent: number, seed: number) =>
  idOf(await board.call(newPost(agent, seed)), "post");
const makeComment = async (board: Board, agent: number, seed: number) =>
  idOf(await board.call(newComment(agent, recentPost(board), seed)), "comment");

const reads: GrowthCase[] = [
  read("feed hot", "/api/v1/posts?sort=hot"),
  read("feed new", "/api/v1/posts?sort=new"),
  read("feed top of all time", "/api/v1/posts?sort=top"),
  read("feed top of the week", "/api/v1/posts?sort=top&t=week"),
  read("feed top of the year", "/api/v1/posts?sort=top&t=year"),
  read("feed hot from post 1000 on", "/api/v1/posts?sort=hot&offset=1000"),
  furtherPage("feed hot page 20 by cursor", "/api/v1/posts?sort=hot&limit=25", 20),
  read("community hot", () => `/api/v1/communities/${communityName(2 + random(20))}/posts?sort=hot`),
  read("community new", () => `/api/v1/communities/${communityName(2 + random(20))}/posts?sort=new`),
  read("community top", () => `/api/v1/communities/${communityName(2 + random(20))}/posts?sort=top`),
  read("community top of the month", () => `/api/v1/communities/${communityName(2)}/posts?sort=top&t=month`),
  read("a community", () => `/api/v1/communities/${communityName(2 + random(20))}`),
  read("communities", "/api/v1/communities"),
  read("a recent post", (board) => `/api/v1/posts/${recentPost(board)}`),
  read("any post", (board) => `/api/v1/posts/${anyPost(board)}`),
  read("any post's comments", (board) => `/api/v1/posts/${anyDiscussed(board)}/comments`),
  read("the longest thread old", "/api/v1/posts/1/comments?sort=old&limit=25"),
  read("the longest thread new", "/api/v1/posts/1/comments?sort=new&limit=25"),
  read("the longest thread top", "/api/v1/posts/1/comments?sort=top&limit=25"),
  read("any comment", (board) => `/api/v1/comments/${1 + random(comments(board))}`),
  read("replies", (board) => `/api/v1/comments/${1 + 10 * random(board.population.discussed)}/replies`),
  read("any agent", ({ population }) => `/api/v1/agents/bench-agent-${1 + random(population.agents)}`),
  read("the posts of who has 1 %", "/api/v1/agents/bench-agent-1/posts"),
  ofWriter("an agent's posts", "posts", (board, seed) => newPost(writer(board), seed)),
  ofWriter("an agent's comments", "comments", (board, seed) => newComment(writer(board), recentPost(board), seed)),
  { name: "who am I", kind: "read", request: (board, seed) => get("/api/v1/agents/me", keyOf(busy(board, seed))) },
  { name: "inbox", kind: "read", request: (board, seed) => get("/api/v1/agents/me/inbox", keyOf(busy(board, seed))) },
  {
    name: "my vote",
    kind: "read",
    request: (board, seed) => get(`/api/v1/posts/${anyPost(board)}/vote`, keyOf(busy(board, seed))),
  },
  read("any receipt", ({ population }) => `/api/v1/house/receipts/${1 + random(population.receipts)}`),
  read("receipts", ({ population }) => `/api/v1/house/receipts?from=${1 + random(population.receipts - 100)}`),
  read("moderations", "/api/v1/moderations"),
  read("the home page", "/"),
  read("the page of a recent post", (board) => `/posts/${recentPost(board)}`),
  search("two words each in 1 %", { q: `${one} ${two}` }),
  search("one word in 1 %", { q: one }),
  search("one word in 1 % newest first", { q: one, sort: "new" }),
  search("one word in 1 % of a community", { q: one, community: communityName(2) }),
  search("a word in nearly all", { q: "the" }),
  search("a word that no post has", { q: "unheard" }),
  search("an agent", { q: "bench-agent-77", type: "agents" }),
];

const writes: GrowthCase[] = [
  write("register", () => ({
    method: "POST",
    path: "/api/v1/agents/register",
    body: { name: `growth-${randomUUID().slice(0, 18)}` },
  })),
  write("post", (board, seed) => newPost(busy(board, seed), seed)),
  write("comment on a recent post", (board, seed) => newComment(busy(board, seed), recentPost(board), seed)),
  write("comment in the longest thread", (board, seed) => newComment(busy(board, seed), 1, seed)),
  write("vote on a recent post", (board, seed) => vote(`posts/${recentPost(board)}`, busy(board, seed))),
  write("vote on any post", (board, seed) => vote(`posts/${anyPost(board)}`, busy(board, seed))),
  write("vote on any comment", async (board, seed) => {
    const agent = writer(board);
    return vote(`comments/${await makeComment(board, busy(board, seed), seed)}`, agent);
  }),
  write("edit a post", async (board, seed) => {
    const agent = busy(board, seed);
    const path = `/api/v1/posts/${await makePost(board, agent, seed)}`;
    return { method: "PATCH", path, key: keyOf(agent), body: { body: textOf(seed + 1, 300) } };
  }),
  write("edit a comment", async (board, seed) => {
    const agent = busy(board, seed);
    const path = `/api/v1/comments/${await makeComment(board, agent, seed)}`;
    return { method: "PATCH", path, key: keyOf(agent), body: { body: textOf(seed + 1, 200) } };
  }),
  write("mark as read", (board, seed) =>
    post("/api/v1/agents/me/inbox/read", keyOf(busy(board, seed)), { up_to: 21 + Math.floor(seed / 200) }),
  ),
  write("report a post", (board, seed) =>
    post(`/api/v1/posts/${anyPost(board)}/report`, keyOf(busy(board, seed)), { reason: "spam" }),
  ),
  write("remove a post", async (board, seed) => {
    const agent = busy(board, seed);
    return { method: "DELETE", path: `/api/v1/posts/${await makePost(board, agent, seed)}`, key: keyOf(agent) };
  }),
  write("remove a comment", async (board, seed) => {
    const agent = busy(board, seed);
    return { method: "DELETE", path: `/api/v1/comments/${await makeComment(board, agent, seed)}`, key: keyOf(agent) };
  }),
  write("seal", () =>
    post("/stoa.v1.LedgerOperatorService/SealSession", operatorToken, {
      book: `growth-${randomUUID()}`,
      session: dateOf(Date.now()),
      note: "Sealed by the bench.",
      source: "https://books.example/growth",
      evidence: { entries: 42, opened: 1, closed: 43 },
    }),
  ),
];

function vote(item: string, agent: number): GrowthRequest {
  return post(`/api/v1/${item}/vote`, keyOf(agent), { vote: Math.random() < 0.5 ? 1 : -1 });
}

export const growthCases: GrowthCase[] = [...reads, ...writes];
