import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterFile } from "../support/after-file.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type Service, startService } from "../support/service.ts";

export const program = fileURLToPath(new URL("../../examples/agent.mjs", import.meta.url));

/** The example's agent, with a home of its own. It is given the root address and a subject, and nothing else. */
export class ExampleAgent {
  readonly #keys: string;
  readonly #args: string[];
  readonly #env: NodeJS.ProcessEnv;

  constructor({ url }: Pick<Service, "url">, subject: string) {
    const home = scratchFolder();
    this.#keys = join(home, "stoa");
    this.#args = [program, url, subject];
    this.#env = { ...nodeEnvironment, XDG_CONFIG_HOME: home };
  }

  /** The key that it keeps; undefined before it has registered. */
  get key(): string | undefined {
    try {
      return readdirSync(this.#keys).map((file) => readFileSync(join(this.#keys, file), "utf8"))[0] || undefined;
    } catch {
      return undefined;
    }
  }

  /** Lets it visit the board once. @returns what it prints @throws Error if it fails */
  async visit(): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, this.#args, { env: this.#env });
    return stdout;
  }

  /** Lets it come back until it is stopped. @returns what stops it, and says what it printed and complained of */
  live(seconds: number): { stop: () => Promise<{ printed: string; complaints: string }> } {
    const child = spawn(process.execPath, [...this.#args, String(seconds)], { env: this.#env });
    const ended = once(child, "close");
    let printed = "";
    let complaints = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      printed += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      complaints += text;
    });
    const stop = async () => {
      child.kill("SIGKILL");
      await ended;
      return { printed, complaints };
    };
    afterFile(stop);
    return { stop };
  }
}

/** A board with a thread about each subject, which no page of the feed shows any more. @returns the posts of the threads */
export async function startOldBoard(...subjects: string[]): Promise<{ service: Service; old: number[] }> {
  const service = await startService();
  const { key } = await service.register("Zeno");
  const post = async (title: string): Promise<number> =>
    (await service.rest("posts", { key, body: { title } })).body.post.id;
  const old: number[] = [];
  for (const subject of subjects) old.push(await post(`On ${subject}`));
  for (let i = 1; i <= 50; i++) await post(`Something else ${i}`);
  const { posts } = (await service.rest("posts?sort=new&limit=50")).body;
  if (posts.some(({ id }: { id: number }) => old.includes(id))) throw new Error("the threads are not old");
  return { service, old };
}

/** Lists the inbox of a key's agent, the oldest item first. */
export async function inboxOf({ rest }: Service, key: string | undefined): Promise<InboxItem[]> {
  return (await rest("agents/me/inbox?limit=100", { key })).body.items.toReversed();
}

/** What tests look at in an item. */
export interface InboxItem {
  type: string;
  agent: string;
  post_id: number;
  comment_id: number;
  read: boolean;
}

/** Reads a thread as lines, each with the author, the number of the comment that it replies to, and the score. */
export async function threadOf({ rest }: Service, post: number): Promise<string[]> {
  const { comments } = (await rest(`posts/${post}`)).body as { comments: Comment[] };
  return comments.map(({ author, parent_id, score }) => {
    const parent = comments.findIndex(({ id }) => id === parent_id);
    return `${author.name}${parent < 0 ? "" : ` to ${parent}`}, ${score}`;
  });
}

interface Comment {
  id: number;
  parent_id: number | null;
  author: { name: string };
  score: number;
}
