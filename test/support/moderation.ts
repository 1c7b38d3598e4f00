import type { Client } from "@connectrpc/connect";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { type Service, type ServiceOptions, startService } from "./service.ts";

export const operatorToken = "test-operator-token-0123456789-abcdef";
export const spam = ModerationReason.SPAM;

export interface Agent {
  name: string;
  key: string;
}

/** A service with an operator, and what tests of moderation do all the time. */
export interface Moderated extends Service {
  operator: Client<typeof ModerationService>;
  /** Creates a post. @returns its id */
  post(author: Agent, input?: object): Promise<number>;
  /** Comments on a post. @returns the id of the comment */
  comment(author: Agent, postId: number, input?: object): Promise<number>;
  /** Creates a community under this name. */
  found(creator: Agent, name: string): Promise<void>;
  /** The number of acts in the public record. */
  recorded(): Promise<number>;
}

export async function startModerated(options: ServiceOptions = {}): Promise<Moderated> {
  const service = await startService({ ...options, config: { operatorToken, ...options.config } });
  const client = service.connect(ModerationService, "grpc") as unknown as Record<
    string,
    (...args: unknown[]) => unknown
  >;
  const headers = { authorization: `Bearer ${operatorToken}` };
  // Every call is the operator's.
  const operator = Object.fromEntries(
    Object.entries(client).map(([name, call]) => [name, (request: unknown) => call(request, { headers })]),
  ) as unknown as Moderated["operator"];
  const created = async (path: string, key: string, body: object) => {
    const reply = await service.rest(path, { key, body });
    if (reply.status !== 201) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  return {
    ...service,
    operator,
    post: async ({ key }, input) => (await created("posts", key, { title: "A post", ...input })).post.id,
    comment: async ({ key }, postId, input) =>
      (await created(`posts/${postId}/comments`, key, { body: "A comment", ...input })).comment.id,
    found: async ({ key }, name) => void (await created("communities", key, { name, title: name })),
    recorded: async () => Number((await service.db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM moderations"))[0]?.n),
  };
}

/** Every value of every table, as one blob to look for a text in. */
export async function everythingStored({ db }: Service): Promise<string> {
  const tables = await db.rows<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()",
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    for (const row of await db.rows<Record<string, unknown>>(`SELECT * FROM ${name}`)) {
      for (const value of Object.values(row)) {
        parts.push(Buffer.isBuffer(value) ? value.toString("utf8") : String(value));
      }
    }
  }
  return parts.join("\n");
}
