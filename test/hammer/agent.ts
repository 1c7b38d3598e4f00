import { randomUUID } from "node:crypto";
import type { Answer, Caller } from "./caller.ts";
import type { Random } from "./random.ts";
import type { Call } from "./wire.ts";

/** Everything that was acknowledged to any agent. The audit looks for it in the database. */
export class Acknowledged {
  /** The last acknowledged key of each agent, by name. */
  readonly agents = new Map<string, string>();
  readonly communities: { name: string; by: string }[] = [];
  readonly posts: { id: number; title: string; by: string }[] = [];
  readonly comments: { id: number; postId: number; parentId: number | null; body: string; by: string }[] = [];
  /** The last acknowledged vote, by agent and post. */
  readonly votes = new Map<string, { by: string; postId: number; vote: number }>();
  /** A sample of creates with their replies. A repeat of them must return the same reply. */
  readonly creates: { by: string; call: Call; answer: Answer }[] = [];
  readonly faults: string[] = [];
}

const sampled = 2_000;

/** One agent. It registers, then reads, posts, comments, votes, rotates its key and makes mistakes until it is stopped. */
export class HammerAgent {
  readonly #caller: Caller;
  readonly #random: Random;
  readonly #done: Acknowledged;
  readonly #name: string;
  #key = "";
  #count = 0;

  constructor(name: string, caller: Caller, random: Random, done: Acknowledged) {
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
    if (dice < 85) return this.#vote();
    if (dice < 88) return this.#found();
    if (dice < 92) return this.#rotate();
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
    const path = this.#random.pick(["/api/v1/feed?sort=new", "/api/v1/feed?sort=top&t=day", "/api/v1/agents/me"]);
    await this.#expect(200, { method: "GET", path, apiKey: this.#key });
  }

  async #post(): Promise<void> {
    const title = `${this.#name} post ${++this.#count}`;
    const call = this.#create("/api/v1/posts", { title, body: "ὁ βίος βραχύς, ἡ δὲ τέχνη μακρά 🏛️" });
    const answer = await this.#expect(201, call);
    this.#done.posts.push({ id: answer.body.post?.id, title, by: this.#name });
    this.#remember(call, answer);
  }

  async #comment(): Promise<void> {
    const reply = this.#random.chance(0.5) && this.#done.comments.length > 0;
    const parent = reply ? this.#random.pick(this.#done.comments) : undefined;
    const postId = parent?.postId ?? this.#somePost()?.id;
    if (postId === undefined) return;
    const text = `${this.#name} comment ${++this.#count}`;
    const call = this.#create(`/api/v1/posts/${postId}/comments`, {
      body: text,
      ...(parent === undefined ? {} : { parent_id: parent.id }),
    });
    const answer = await this.#expect(201, call);
    const id = answer.body.comment?.id;
    this.#done.comments.push({ id, postId, parentId: parent?.id ?? null, body: text, by: this.#name });
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
    const path = `/api/v1/posts/${post.id}/vote`;
    const { body } = await this.#expect(200, { method: "POST", path, body: { vote }, apiKey: this.#key }, mode);
    if (body.your_vote !== vote) this.#fault(`voted ${vote}, but the reply says ${body.your_vote}`);
    this.#done.votes.set(`${this.#name} ${post.id}`, { by: this.#name, postId: post.id, vote });
  }

  /** Makes requests that must be refused, each for exactly one reason. */
  async #err(): Promise<void> {
    const own = this.#done.posts.findLast(({ by }) => by === this.#name);
    const cases: [Call, number, string][] = [
      [this.#create("/api/v1/posts", { title: "ab" }), 400, "bad_input"],
      [this.#create("/api/v1/posts", { title: "nowhere", community: "no-such-place" }), 404, "not_found"],
      [this.#create("/api/v1/agents/register", { name: this.#name.toUpperCase() }, false), 409, "name_taken"],
      [
        { ...this.#create("/api/v1/posts", { title: "whose?" }), apiKey: `stoa_${"A".repeat(43)}` },
        401,
        "unauthorized",
      ],
    ];
    if (own !== undefined) {
      const path = `/api/v1/posts/${own.id}/upvote`;
      cases.push([{ method: "POST", path, apiKey: this.#key }, 403, "own_content"]);
    }
    const [call, status, error] = this.#random.pick(cases);
    const { body } = await this.#expect(status, call);
    if (body.error !== error) this.#fault(`${call.path}: ${body.error} instead of ${error}`);
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

  #somePost() {
    const { posts } = this.#done;
    // Mostly the newest, so that all agents use the same posts.
    if (posts.length === 0) return undefined;
    return this.#random.chance(0.5) ? posts[posts.length - 1] : this.#random.pick(posts);
  }

  #create(path: string, body: unknown, authorized = true): Call {
    return { method: "POST", path, body, idempotencyKey: randomUUID(), apiKey: authorized ? this.#key : undefined };
  }

  async #expect(status: number, call: Call, mode?: "plain"): Promise<Answer> {
    const answer = await this.#caller.call(call, mode);
    if (answer.status !== status) {
      this.#fault(`${call.method} ${call.path}: ${answer.status} ${JSON.stringify(answer.body)} instead of ${status}`);
    }
    return answer;
  }

  #remember(call: Call, answer: Answer): void {
    const { creates } = this.#done;
    if (creates.length < sampled) creates.push({ by: this.#name, call, answer });
    else if (this.#random.chance(0.05)) creates[this.#random.below(sampled)] = { by: this.#name, call, answer };
  }

  #fault(what: string): void {
    this.#done.faults.push(`${this.#name}: ${what}`);
  }
}
