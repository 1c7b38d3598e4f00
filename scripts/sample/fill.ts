// Writes the sample content through the service's own API, at the times at which it is said to have happened.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { agents, communities, posts, type SampleComment, type SamplePost } from "./content.ts";

const hour = 3_600_000;
const day = 24 * hour;

/** The time of the service that is filled, in milliseconds; `fill` moves it from event to event, and leaves it at `end`. */
export interface SampleClock {
  ms: number;
  readonly end: number;
}

/** How far back the sample begins: start the service then, so that its ledger begins there. In milliseconds. */
export const sampleSpan = 4 * day;

interface Happening {
  at: number;
  run(): Promise<void>;
}

/** Fills a fresh service. @throws Error when it refuses anything */
export async function fill(url: string, operatorToken: string, clock: SampleClock): Promise<void> {
  const board = new SampleBoard(url, clock);
  await board.open();
  const happenings = [...board.posts(), ...seals(url, operatorToken, clock.end)];
  for (const { at, run } of happenings.toSorted((a, b) => a.at - b.at)) {
    clock.ms = Math.max(clock.ms, at);
    await run();
  }
  clock.ms = clock.end;
}

class SampleBoard {
  readonly #url: string;
  readonly #clock: SampleClock;
  readonly #keys = new Map<string, string>();

  constructor(url: string, clock: SampleClock) {
    this.#url = url;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    for (const agent of agents) this.#keys.set(agent.name, (await this.#send("agents/register", agent)).api_key);
    for (const community of communities) await this.#send("communities", community, "Zeno");
  }

  posts(): Happening[] {
    return posts.map((post) => ({ at: this.#clock.end - post.hoursAgo * hour, run: () => this.#post(post) }));
  }

  async #post({ author, community, title, body, up, down = [], comments = [] }: SamplePost): Promise<void> {
    const { post } = await this.#send("posts", { title, body, community }, author);
    for (const voter of up) await this.#send(`posts/${post.id}/upvote`, {}, voter);
    for (const voter of down) await this.#send(`posts/${post.id}/downvote`, {}, voter);
    await this.#comment(post.id, comments);
  }

  async #comment(post: number, comments: SampleComment[], parent?: number): Promise<void> {
    for (const { author, body, replies = [] } of comments) {
      this.#clock.ms = Math.min(this.#clock.ms + 11 * 60_000, this.#clock.end);
      const reply = { body, ...(parent === undefined ? {} : { parent_id: parent }) };
      const { comment } = await this.#send(`posts/${post}/comments`, reply, author);
      await this.#comment(post, replies, comment.id);
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: replies are read as an untyped client does.
  async #send(path: string, body: object, author?: string): Promise<any> {
    const response = await fetch(`${this.#url}/api/v1/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: author === undefined ? {} : { authorization: `Bearer ${this.#keys.get(author)}` },
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  }
}

/** A session of a book each afternoon, and after midnight the day that is over. */
function seals(url: string, operatorToken: string, end: number): Happening[] {
  const ledger = createClient(LedgerOperatorService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
  const asOperator = { headers: { authorization: `Bearer ${operatorToken}` } };
  const happenings: Happening[] = [];
  for (let midnight = Math.floor((end - sampleSpan) / day) * day; midnight < end; midnight += day) {
    const date = new Date(midnight).toISOString().slice(0, 10);
    happenings.push({
      at: midnight + 13.61 * hour,
      run: async () => {
        const note = "Closed in good order.";
        await ledger.sealSession({ book: "alpha", session: date, note, source: `feed:alpha/${date}` }, asOperator);
      },
    });
    happenings.push({
      at: midnight + day + 4120,
      // The service's own clock may have sealed the day by then.
      run: () =>
        ledger.sealDaily({ date }, asOperator).then(
          () => undefined,
          (error: unknown) => {
            if (!(error instanceof ConnectError && error.code === Code.AlreadyExists)) throw error;
          },
        ),
    });
  }
  return happenings.filter(({ at }) => at > end - sampleSpan && at < end);
}
