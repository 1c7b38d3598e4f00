// The contents of the database as pure functions of a number, so that the load generator knows every agent and post.
import { createHash } from "node:crypto";

export interface Population {
  /** The name of the database that holds the population. */
  database: string;
  posts: number;
  agents: number;
  communities: number;
  /** How many posts have comments, and how many comments each of them has. */
  discussed: number;
  commentsEach: number;
  /** How many comments the first post has besides. */
  thread: number;
  /** The share of the posts that the first agent wrote. */
  firstAuthorShare: number;
  /** The length of the chain; 0 leaves the ledger to the service. */
  receipts: number;
}

export const fullPopulation: Population = {
  database: "stoa_bench",
  posts: 1_000_000,
  agents: 10_000,
  communities: 200,
  discussed: 5_000,
  commentsEach: 10,
  thread: 0,
  firstAuthorShare: 0,
  receipts: 0,
};
export const quickPopulation: Population = {
  ...fullPopulation,
  database: "stoa_bench_quick",
  posts: 50_000,
  discussed: 2_000,
};

/** The last agents write and vote during the bench. The others wrote the seeded posts and cast the seeded votes. */
export const busyAgents = 1_000;

export interface SeededPost {
  id: number;
  communityId: number;
  authorId: number;
  title: string;
  body: string;
  upvotes: number;
  downvotes: number;
  comments: number;
  /** Where in the seeded span it was created, from 0 to 1. */
  age: number;
}

const words = (
  "agents ledger receipt the a of and to is that in chain vote post when each reads writes proof board which stone public " +
  "we measured an index before after latency never trusts what it cannot verify again community argues about every sealed " +
  "record order by time under load one more careful result appears small change large effect nobody expected here"
).split(" ");
const text = Array.from({ length: 20_000 }, (_, i) => words[Math.floor(noise(i, 1) * words.length)]).join(" ");

/** Returns the API key of an agent, in the format of the service. */
export function keyOf(agent: number): string {
  return `stoa_${createHash("sha256").update(`bench-${agent}`).digest("base64url")}`;
}

export function agentName(agent: number): string {
  return `bench-agent-${agent}`;
}

export function residentOf(agent: number): number | null {
  return agent % 2 === 0 ? agent : null;
}

/** The first community exists on every new board. */
export function communityName(community: number): string {
  return community === 1 ? "general" : `bench-${community}`;
}

/** Returns a text of about `length` bytes without quotes and backslashes. */
export function textOf(seed: number, length: number): string {
  const start = Math.floor(noise(seed, 2) * (text.length - 2 * length));
  return text.slice(start, start + Math.floor(length * (0.5 + noise(seed, 3)))).trim();
}

/** Two words that the bench searches for. Each is in one post of a hundred. */
export const searchedWords = ["aporia", "katalepsis"] as const;

export function postOf(id: number, population: Population): SeededPost {
  const { posts, agents, communities, discussed, commentsEach, thread, firstAuthorShare } = population;
  // Most posts get few votes, a few get thousands.
  const upvotes = Math.min(4_000, Math.floor(0.6 * (1 - noise(id, 4)) ** -0.75));
  return {
    id,
    communityId: 1 + Math.floor(noise(id, 5) ** 2 * communities),
    authorId: noise(id, 13) < firstAuthorShare ? 1 : 1 + Math.floor(noise(id, 6) * (agents - busyAgents)),
    title: textOf(id + 7, 50),
    body: [textOf(id, 300), ...searchedWords.filter((_, index) => noise(id, 10 + index) < 0.01)].join(" "),
    upvotes,
    downvotes: Math.floor(upvotes * 0.4 * noise(id, 7)),
    comments: (id % Math.floor(posts / discussed) === 0 ? commentsEach : 0) + (id === 1 ? thread : 0),
    age: id / posts,
  };
}

/** Returns the id of a post that has comments. */
export function discussedPost(index: number, { posts, discussed }: Population): number {
  return (1 + (index % discussed)) * Math.floor(posts / discussed);
}

/** Returns the number of comments. Their ids count up from 1, and those of the first post's thread are the last. */
export function commentsOf({ discussed, commentsEach, thread }: Population): number {
  return discussed * commentsEach + thread;
}

/** Returns the author of a comment. */
export function commenter(id: number, { agents }: Population): number {
  return 1 + Math.floor(noise(id, 9) * agents);
}

/** Returns the agents that voted on a post. The first `upvotes` of them voted up, the others down. */
export function votersOf(post: SeededPost, { agents }: Population): number[] {
  const pool = agents - busyAgents;
  const first = Math.floor(noise(post.id, 8) * pool);
  const voters: number[] = [];
  for (let i = 0; voters.length < post.upvotes + post.downvotes; i++) {
    const agent = 1 + ((first + i) % pool);
    if (agent !== post.authorId) voters.push(agent);
  }
  return voters;
}

/** Returns a number in [0, 1) that looks random and is the same in every run. */
export function noise(i: number, salt: number): number {
  let x = i + Math.imul(salt, 0x9e3779b1);
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}
