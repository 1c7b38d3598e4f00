// The rows of the bench's population as SQL values, and the counters that belong to them.
import { createHash } from "node:crypto";
import { tokensOf } from "../src/board/search/tokens.ts";
import { bandEndsMs } from "../src/store/tables/age-bands.ts";
import {
  agentName,
  busyAgents,
  commenter,
  commentsOf,
  communityName,
  discussedPost,
  keyOf,
  noise,
  type Population,
  postOf,
  residentOf,
  type SeededPost,
  textOf,
  votersOf,
} from "./population.ts";

/** The time from the oldest post to the newest. */
const spanMs = 2 * 365 * 86_400_000;

export type Tally = ReturnType<typeof countRows>;

/** Counts what the counters of agents and communities must hold, by their ids. */
export function countRows(population: Population) {
  const posts = new Int32Array(population.agents + 1);
  const comments = new Int32Array(population.agents + 1);
  const karma = new Int32Array(population.agents + 1);
  const communities = new Int32Array(population.communities + 1);
  for (let id = 1; id <= population.posts; id++) {
    const { authorId, communityId, upvotes, downvotes } = postOf(id, population);
    posts[authorId] = (posts[authorId] as number) + 1;
    karma[authorId] = (karma[authorId] as number) + upvotes - downvotes;
    communities[communityId] = (communities[communityId] as number) + 1;
  }
  for (let id = 1; id <= commentsOf(population); id++) {
    const author = commenter(id, population);
    comments[author] = (comments[author] as number) + 1;
  }
  return { posts, comments, karma, communities };
}

export function* agentRows({ agents }: Population, tally: Tally, end: number): Generator<string> {
  for (let id = 1; id <= agents; id++) {
    const name = agentName(id);
    const hash = createHash("sha256").update(keyOf(id)).digest("hex");
    const counters = `${tally.posts[id]}, ${tally.comments[id]}, ${tally.karma[id]}`;
    yield `(${id}, '${name}', '${name}', ${residentOf(id)}, '', x'${hash}', ${counters}, ${end - spanMs})`;
  }
}

const communityText = (id: number) => ({ title: `Bench ${id}`, description: textOf(id, 80) });

/** The community with the id 1, general, exists already. */
export function* communityRows({ communities }: Population, tally: Tally, end: number): Generator<string> {
  for (let id = 2; id <= communities; id++) {
    const { title, description } = communityText(id);
    const texts = `'${communityName(id)}', '${title}', '${description}'`;
    yield `(${id}, ${texts}, 1, ${tally.communities[id]}, ${end - spanMs})`;
  }
}

export function* postRows(population: Population, end: number): Generator<string> {
  for (let id = 1; id <= population.posts; id++) {
    const post = postOf(id, population);
    const time = createdAt(post, end);
    const band = bandEndsMs.filter((bandEnd) => end - time > bandEnd).length;
    const values = `${post.upvotes}, ${post.downvotes}, ${post.comments}, ${time}, ${band}`;
    yield `(${id}, ${post.communityId}, ${post.authorId}, '${post.title}', '${post.body}', ${values})`;
  }
}

/** What search looks in. */
export function* searchRows(population: Population): Generator<string> {
  for (let id = 1; id <= population.posts; id++) {
    const { communityId, authorId, title, body } = postOf(id, population);
    yield `(${id}, ${communityId}, ${authorId}, 0, '${tokensOf(`${title}\n${title}\n${title}\n${body}`)}')`;
  }
}

export function* agentSearchRows({ agents }: Population): Generator<string> {
  for (let id = 1; id <= agents; id++) {
    const name = agentName(id);
    yield `(${id}, CRC32('${name} '), '${tokensOf(`${name}\n`.repeat(3))}')`;
  }
}

export function* communitySearchRows({ communities }: Population): Generator<string> {
  for (let id = 2; id <= communities; id++) {
    const { title, description } = communityText(id);
    const tokens = tokensOf(`${`${communityName(id)} ${title}\n`.repeat(3)}${description}`);
    yield `(${id}, CRC32('${title} ${description}'), '${tokens}')`;
  }
}

export function* commentSearchRows(population: Population): Generator<string> {
  for (let id = 1; id <= commentsOf(population); id++) {
    const { communityId } = postOf(postOfComment(id, population), population);
    yield `(${id}, ${communityId}, ${commenter(id, population)}, 0, '${tokensOf(textOf(id, 200))}')`;
  }
}

/** Each busy agent was mentioned in some comments. The last of them fill its inbox. */
export const itemsEach = 40;

export function* inboxRows({ agents }: Population): Generator<string> {
  for (let agent = agents - busyAgents + 1; agent <= agents; agent++) {
    yield `(${agent}, ${itemsEach}, ${itemsEach / 2}, ${itemsEach / 2})`;
  }
}

export function* inboxItemRows(population: Population, end: number): Generator<string> {
  const { agents, discussed, commentsEach } = population;
  for (let agent = agents - busyAgents + 1; agent <= agents; agent++) {
    let comment = Math.floor(noise(agent, 12) * discussed * commentsEach);
    for (let id = 1; id <= itemsEach; id++) {
      do comment = 1 + (comment % (discussed * commentsEach));
      while (commenter(comment, population) === agent);
      const cause = `${postOfComment(comment, population)}, ${comment}, ${commenter(comment, population)}`;
      yield `(${agent}, ${id}, 'mention', ${cause}, NULL, NULL, ${end - itemsEach + id})`;
    }
  }
}

function postOfComment(id: number, population: Population): number {
  if (id > population.discussed * population.commentsEach) return 1;
  return discussedPost(Math.floor((id - 1) / population.commentsEach), population);
}

export function* voteRows(population: Population): Generator<string> {
  for (let id = 1; id <= population.posts; id++) {
    const post = postOf(id, population);
    const voters = votersOf(post, population);
    for (const [index, agent] of voters.entries()) yield `(${id}, ${agent}, ${index < post.upvotes ? 1 : -1})`;
  }
}

export function* commentRows(population: Population, end: number): Generator<string> {
  const each = population.commentsEach;
  for (let index = 0; index < population.discussed; index++) {
    const post = postOf(discussedPost(index, population), population);
    for (let n = 0; n < each; n++) {
      const id = index * each + n + 1;
      // Every third comment replies to the first one.
      const parent = n % 3 === 2 ? index * each + 1 : null;
      const time = createdAt(post, end) + n;
      yield `(${id}, ${post.id}, ${parent}, ${commenter(id, population)}, '${textOf(id, 200)}', ${time})`;
    }
  }
  const first = postOf(1, population);
  for (let id = population.discussed * each + 1; id <= commentsOf(population); id++) {
    yield `(${id}, 1, NULL, ${commenter(id, population)}, '${textOf(id, 200)}', ${createdAt(first, end) + id})`;
  }
}

function createdAt({ age }: SeededPost, end: number): number {
  return Math.floor(end - spanMs + age * spanMs);
}
