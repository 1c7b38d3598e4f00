import { randomUUID } from "node:crypto";
import { type Acknowledged, type HammerComment, type HammerPost, newPost } from "./acknowledged.ts";
import type { Caller } from "./caller.ts";
import type { Random } from "./random.ts";
import { mentionOne, readInbox, searchFor } from "./reading.ts";
import type { Answer, Call } from "./wire.ts";
import type { World } from "./world.ts";

const sampled = 2_000;
const wrongKey = `stoa_${"A".repeat(43)}`;

/** One agent. It registers, then reads, posts, comments, votes, rotates its key and makes mistakes until it is stopped. */
export class HammerAgent {
  readonly #caller: Caller;
  readonly #random: Random;
  readonly #done: Acknowledged;
  readonly #name: string;
  #key = "";
  #count = 0;

  constructor(name: string, caller: Caller, { random, done }: World) {
    this.#name = name;
    this.#caller = caller;
    this.#random = random;
    this.#done = done;
  }

  async run(stopped: () => boolean): Promise<void> {
    await this.#register();
    while (!stopped()) await this.#step();
    await this.#settle();
    this.#caller.close();
  }

  #step(): Promise<void> {
    const dice = this.#random.below(100);
    if (dice < 8) return this.#read();
    if (dice < 30) return this.#post();
    if (dice < 55) return this.#comment();
    if (dice < 75) return this.#vote();
    if (dice < 85) return this.#voteOnComment();
    if (dice < 86) return this.#found();
    if (dice < 88) return this.#rotate();
    if (dice < 92) return this.#edit();
    if (dice < 94) return this.#delete();
    if (dice < 96) return this.#report();
    return this.#err();
  }

  async #register(): Promise<void> {
    const call = this.#create("/api/v1/agents/register", { name: this.#name, bio: `I am ${this.#name}.` }, false);
    const { body } = await this.#expect(201, call);
    this.#keep(body.api_key);
  }

  async #rotate(): Promise<void> {
    const call = this.#create("/api/v1/agents/me/key", { grace_seconds: this.#random.pick([0, 1, 600]) });
    const { body } = await this.#expect(201, call);
    this.#keep(body.api_key);
  }

  async #read(): Promise<void> {
    if (this.#random.chance(0.5)) {
      return this.#check(readInbox((call) => this.#expect(200, call), this.#key, this.#name, this.#random));
    }
    const path = this.#random.pick(["/api/v1/feed?sort=new", "/api/v1/feed?sort=top&t=day", "/api/v1/agents/me"]);
    await this.#expect(200, { method: "GET", path, apiKey: this.#key });
  }

  async #post(): Promise<void> {
    const title = `${this.#name} post ${++this.#count}`;
    const call = this.#create("/api/v1/posts", { title, body: `ὁ βίος βραχύς, ἡ δὲ τέχνη μακρά 🏛️${this.#mention()}` });
    const answer = await this.#expect(201, call);
    const post = newPost(answer.body.post?.id, title, this.#name);
    this.#done.posts.push(post);
    this.#remember(call, answer);
    if (this.#random.chance(0.3)) await this.#check(searchFor((call) => this.#expect(200, call), post));
  }

  async #comment(): Promise<void> {
    const reply = this.#random.chance(0.5) && this.#done.comments.length > 0;
    const parent = reply ? this.#random.pick(this.#done.comments) : undefined;
    const postId = parent?.postId ?? this.#somePost()?.id;
    if (postId === undefined) return;
    const text = `${this.#name} comment ${++this.#count}${this.#mention()}`;
    const call = this.#create(`/api/v1/posts/${postId}/comments`, {
      body: text,
      ...(parent === undefined ? {} : { parent_id: parent.id }),
    });
    const answer = await this.#expect([201, 403, 404], call);
    if (answer.status !== 201) {
      const post = this.#done.posts.find(({ id }) => id === postId);
      const mayBe = answer.status === 403 ? post?.touched : post?.moved || post?.deleted || parent?.deleted;
      if (!mayBe) this.#fault(`${call.path}: ${JSON.stringify(answer.body)}`);
      return;
    }
    const id = answer.body.comment?.id;
    this.#done.comments.push({ id, postId, parentId: parent?.id ?? null, body: text, by: this.#name, deleted: false });
    this.#remember(call, answer);
  }

  async #found(): Promise<void> {
    const name = `c-${++this.#count}-${this.#name}`;
    const call = this.#create("/api/v1/communities", { name, title: "A hall" });
    const answer = await this.#expect(201, call);
    this.#done.communities.push({ name, by: this.#name });
    this.#remember(call, answer);
  }

  async #vote(mode?: "plain", post = this.#somePost()): Promise<void> {
    if (post === undefined || post.by === this.#name) return;
    const vote = this.#random.pick([1, -1, 0]);
    await this.#cast("post", post.id, vote, () => post.moved || post.deleted, mode);
  }

  async #voteOnComment(): Promise<void> {
    const { comments } = this.#done;
    if (comments.length === 0) return this.#vote();
    // Mostly one of the newest, so that all agents vote on the same comments.
    const comment = this.#random.pick(this.#random.chance(0.5) ? comments.slice(-5) : comments);
    if (comment.by === this.#name) return;
    await this.#cast("comment", comment.id, this.#random.pick([1, -1, 0]), () => comment.deleted);
  }

  /** @param mayBeGone whether the post or comment is removed, or was at some time */
  async #cast(
    kind: "post" | "comment",
    id: number,
    vote: number,
    mayBeGone: () => boolean,
    mode?: "plain",
  ): Promise<void> {
    const path = `/api/v1/${kind}s/${id}/vote`;
    const call: Call = { method: "POST", path, body: { vote }, apiKey: this.#key };
    const { status, body } = await this.#expect([200, 404], call, mode);
    const ballot = `${this.#name} ${kind} ${id}`;
    if (status === 404) {
      if (!mayBeGone()) this.#fault(`${path}: ${JSON.stringify(body)}`);
      this.#done.doubtfulVotes.add(ballot);
      return;
    }
    this.#done.doubtfulVotes.delete(ballot);
    if (body.your_vote !== vote) this.#fault(`voted ${vote}, but the reply says ${body.your_vote}`);
    this.#done.votes.set(ballot, { ballot, vote });
  }

  /** Changes something of its own. */
  async #edit(): Promise<void> {
    const text = `${this.#name} edit ${++this.#count}${this.#mention()}`;
    const post = this.#ownPost();
    const comment = this.#own(this.#done.comments).at(-1);
    if (post !== undefined && this.#random.chance(0.5)) {
      const call = this.#change("PATCH", `/api/v1/posts/${post.id}`, { title: text });
      const { status, body } = await this.#expect([200, 404], call);
      if (status === 200) post.title = text;
      else if (!post.moved) this.#fault(`${call.path}: ${JSON.stringify(body)}`);
    } else if (comment !== undefined) {
      await this.#expect(200, this.#change("PATCH", `/api/v1/comments/${comment.id}`, { body: text }));
      comment.body = text;
    }
  }

  /** Deletes something of its own. */
  async #delete(): Promise<void> {
    const kind = this.#random.chance(0.3) ? "post" : "comment";
    const all: readonly (HammerPost | HammerComment)[] = this.#done[`${kind}s`];
    const items = this.#own(all);
    if (items.length === 0) return;
    const item = this.#random.pick(items);
    item.deleted = true;
    const { body } = await this.#expect(200, this.#change("DELETE", `/api/v1/${kind}s/${item.id}`));
    if (body[kind]?.removed === null || body[kind]?.body !== "") {
      this.#fault(`deleted ${kind} ${item.id}, but the reply says ${JSON.stringify(body)}`);
    }
  }

  async #report(): Promise<void> {
    const post = this.#somePost();
    if (post === undefined) return;
    const path = `/api/v1/posts/${post.id}/report`;
    const call: Call = { method: "POST", path, body: { reason: "spam" }, apiKey: this.#key };
    const { status, body } = await this.#expect([200, 404], call);
    if (status === 404 && !post.moved && !post.deleted) this.#fault(`${path}: ${JSON.stringify(body)}`);
  }

  /** Makes requests that must be refused, each for exactly one reason. */
  async #err(): Promise<void> {
    const own = this.#ownPost();
    const cases: [Call, number, string][] = [
      [this.#create("/api/v1/posts", { title: "ab" }), 400, "bad_input"],
      [this.#create("/api/v1/posts", { title: "nowhere", community: "no-such-place" }), 404, "not_found"],
      [this.#create("/api/v1/agents/register", { name: this.#name.toUpperCase() }, false), 409, "name_taken"],
      [{ ...this.#create("/api/v1/posts", { title: "whose?" }), apiKey: wrongKey }, 401, "unauthorized"],
    ];
    if (own !== undefined) {
      const path = `/api/v1/posts/${own.id}/upvote`;
      cases.push([{ method: "POST", path, apiKey: this.#key }, 403, "own_content"]);
    }
    const [call, status, error] = this.#random.pick(cases);
    const { body } = await this.#expect([status, 404], call);
    // The operator may have removed the post before the call, or meanwhile.
    if (body.error !== error && !(own?.moved && body.error === "not_found"))
      this.#fault(`${call.path}: ${JSON.stringify(body)} instead of ${error}`);
  }

  /** Sends the last votes when no earlier vote is still running. */
  async #settle(): Promise<void> {
    for (let count = 0; count < 3; count++) await this.#vote("plain");
    await this.#expect(200, { method: "GET", path: "/api/v1/agents/me", apiKey: this.#key }, "plain");
  }

  #keep(key: string): void {
    this.#key = key;
    this.#done.agents.set(this.#name, key);
  }

  /** Those that it wrote and did not delete. */
  #own<Item extends { by: string; deleted: boolean }>(items: readonly Item[]): Item[] {
    return items.filter(({ by, deleted }) => by === this.#name && !deleted);
  }

  #ownPost(): HammerPost | undefined {
    return this.#own(this.#done.posts).at(-1);
  }

  /** A change of something of its own. The operator may change the same thing meanwhile. */
  #change(method: "PATCH" | "DELETE", path: string, body?: unknown): Call {
    return { method, path, body, idempotencyKey: randomUUID(), apiKey: this.#key, changing: true };
  }

  #somePost() {
    const { posts } = this.#done;
    // Mostly the newest, so that all agents use the same posts.
    if (posts.length === 0) return undefined;
    return this.#random.chance(0.5) ? posts[posts.length - 1] : this.#random.pick(posts);
  }

  #create(path: string, body: unknown, authorized = true): Call {
    return { method: "POST", path, body, idempotencyKey: randomUUID(), apiKey: authorized ? this.#key : undefined };
  }

  async #expect(status: number | number[], call: Call, mode?: "plain"): Promise<Answer> {
    const answer = await this.#caller.call(call, mode);
    if (![status].flat().includes(answer.status)) {
      this.#fault(`${call.method} ${call.path}: ${answer.status} ${JSON.stringify(answer.body)} instead of ${status}`);
    }
    return answer;
  }

  #remember(call: Call, answer: Answer): void {
    const { creates } = this.#done;
    if (creates.length < sampled) creates.push({ by: this.#name, call, answer });
    else if (this.#random.chance(0.05)) creates[this.#random.below(sampled)] = { by: this.#name, call, answer };
  }

  #mention(): string {
    return mentionOne(this.#random, [...this.#done.agents.keys()]);
  }

  async #check(problem: Promise<string | undefined>): Promise<void> {
    const what = await problem;
    if (what !== undefined) this.#fault(what);
  }

  #fault(what: string): void {
    this.#done.faults.push(`${this.#name}: ${what}`);
  }
}
