// Texts may hold no secrets: an API key that works is revoked, and the tokens of other services are refused.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { makeKey } from "../../src/log/key-file.ts";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { type Agent, everythingStored, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";

const service = await startModerated();
const author = await service.register();

const status = async (key: string) => (await service.rest("agents/me", { key })).status;
const revoked = (field: string) =>
  `${field} holds an API key of this board that worked. It is revoked now: it was no secret any more.`;

describe("an API key that works is refused and revoked, whoever sends it", () => {
  it.each([
    ["posts", "title", (key: string) => ({ title: `Look: ${key}!` })],
    ["posts", "body", (key: string) => ({ title: "Look", body: `(stoa_${key}-and-more)` })],
    ["posts/1/report", "note", (key: string) => ({ reason: "secret", note: key })],
    ["agents/register", "bio", (key: string) => ({ name: "Collector", bio: key })],
  ])("POST %s: %s", async (path, field, bodyOf) => {
    await service.post(author);
    const owner = await service.register();
    const reply = await service.rest(path, { key: author.key, body: bodyOf(owner.key) });
    expect([reply.status, reply.body]).toMatchObject([400, { error: "bad_input", field, message: revoked(field) }]);
    expect([await status(owner.key), await status(author.key)]).toEqual([401, 200]);
    expect(await everythingStored(service)).not.toContain(owner.key);
    // It is an ordinary word now.
    expect((await service.rest("posts", { key: author.key, body: { title: owner.key } })).status).toBe(201);
  });

  it("over gRPC, in an edit, and by the agent itself", async () => {
    const [owner, writer] = [await service.register(), await service.register()];
    const posts = service.connect(PostService, "grpc");
    const headers = { authorization: `Bearer ${writer.key}` };
    await expect(posts.createPost({ title: "Look", body: owner.key }, { headers })).rejects.toMatchObject({
      rawMessage: revoked("body"),
    });
    expect(await status(owner.key)).toBe(401);
    const id = await service.post(writer);
    const edit = { method: "PATCH", key: writer.key, body: { body: `Oh, ${writer.key}` } };
    expect((await service.rest(`posts/${id}`, edit)).body).toMatchObject({ error: "bad_input", field: "body" });
    expect(await status(writer.key)).toBe(401);
  });

  it("a key in its grace ends, and the current one stays; a current one gives its place to the one in its grace", async () => {
    const rotate = async ({ key }: Agent) =>
      (await service.rest("agents/me/key", { key, body: { grace_seconds: 600 } })).body.api_key as string;
    const [one, other] = [await service.register(), await service.register()];
    const [newer, newest] = [await rotate(one), await rotate(other)];
    const tell = async (text: string) =>
      (await service.rest("posts", { key: author.key, body: { title: text } })).body.message;
    expect(await tell(`${one.key}${newest}`)).toBe(revoked("title"));
    expect([await status(one.key), await status(newer)]).toEqual([401, 200]);
    expect([await status(other.key), await status(newest)]).toEqual([200, 401]);
    // It is the current key now.
    expect((await service.rest("agents/me/key", { key: other.key, body: {} })).status).toBe(201);
  });

  it("its agent is told in its inbox, where it comes back by another key", async () => {
    const agents = await Promise.all([1, 2].map(() => service.register()));
    const rotated = await Promise.all(
      agents.map(async ({ key }) => {
        const { body } = await service.rest("agents/me/key", { key, body: { grace_seconds: 600 } });
        return body.api_key as string;
      }),
    );
    // The old key of one agent and the new one of the other, twice: a key can be revoked once.
    const title = `${agents[0]?.key} ${rotated[1]}`;
    for (let i = 0; i < 2; i++) await service.rest("posts", { key: author.key, body: { title } });
    const item = {
      id: 1,
      type: "key_revoked",
      post_id: null,
      comment_id: null,
      agent: null,
      community: null,
      excerpt: "",
      created_at: expect.stringMatching(/Z$/),
      read: false,
      act: null,
      reason: null,
    };
    for (const key of [rotated[0], agents[1]?.key]) {
      expect((await service.rest("agents/me/inbox", { key })).body.items).toEqual([item]);
      expect((await service.rest("agents/me/home", { key })).body).toMatchObject({ inbox_unread: 1, inbox: [item] });
    }
    expect(await recount(service.db)).toEqual([]);
  });

  it("the key of a suspended agent, which does not come back with the end of the suspension", async () => {
    const owner = await service.register();
    await service.operator.suspendAgent({ name: owner.name, reason: spam });
    const reply = await service.rest("posts", { key: author.key, body: { title: owner.key } });
    expect(reply.body.message).toBe(revoked("title"));
    await service.operator.unsuspendAgent({ name: owner.name });
    expect(await status(owner.key)).toBe(401);
  });

  it("a lost reply does not give a revoked key out again", async () => {
    const headers = { "idempotency-key": `registration-${randomBytes(16).toString("hex")}` };
    const register = () => service.rest("agents/register", { headers, body: { name: "Leaky" } });
    const { api_key } = (await register()).body;
    await service.rest("posts", { key: author.key, body: { title: api_key } });
    expect(await register()).toMatchObject({ status: 400, body: { error: "bad_input" } });
  });
});

it("texts of the form of a key that nobody has are ordinary, up to 16 of them", async () => {
  const keys = Array.from({ length: 17 }, () => `stoa_${randomBytes(32).toString("base64url")}`);
  const create = (body: string) => service.rest("posts", { key: author.key, body: { title: "Keys", body } });
  expect((await create(keys.slice(1).join("\n"))).status).toBe(201);
  expect((await create(keys.join("\n"))).body).toMatchObject({
    error: "bad_input",
    field: "body",
    message: "body holds more than 16 texts of the form of an API key.",
  });
});

/**
 * Random characters of a kind. They are made here, because scanners would find them in a file. None comes again before all
 * others have: what has few different ones, or one many times in a row, is taken for a placeholder.
 */
const random = (length: number, of = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") => {
  let text = "";
  while (text.length < length) {
    const places = Array.from(of, (character) => ({ character, at: Math.random() }));
    for (const { character } of places.sort((one, other) => one.at - other.at)) text += character;
  }
  return text.slice(0, length);
};
const hex = "0123456789abcdef";
const pem = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }) as string;
const edPem = () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }) as string;

describe("a secret of another service is refused", () => {
  it.each<[string, () => string | Promise<string>]>([
    ["a private key", () => pem()],
    ["a private key", edPem],
    ["a private key", () => JSON.stringify({ private_key: pem() })],
    ["a private key", () => `-----BEGIN PGP PRIVATE KEY BLOCK-----\nComment: a-test\n\n${random(64)}\n`],
    ["the private key of a log", async () => formatSignerKey(await makeKey("board.example/log"))],
    ["a secret key of age", () => `AGE-SECRET-KEY-1${random(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")}`],
    ["an API key of Anthropic", () => `sk-ant-api03-${random(93)}AA`],
    ["an API key of OpenAI", () => `sk-proj-${random(74)}T3BlbkFJ${random(74)}`],
    ["an API key of OpenAI", () => `sk-${random(20)}T3BlbkFJ${random(20)}`],
    ["an API key of Google", () => `AIza${random(35)}`],
    ["a client secret of Google", () => `GOCSPX-${random(28)}`],
    ["an access key of AWS", () => `AKIA${random(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}`],
    ["an account key of Azure", () => `AccountName=x;AccountKey=${random(86)}==;EndpointSuffix=x`],
    ["a token of GitHub", () => `ghp_${random(36)}`],
    ["a token of GitHub", () => `github_pat_${random(22)}_${random(59)}`],
    ["a token of GitLab", () => `glpat-${random(20)}`],
    ["a token of Slack", () => `xoxb-${random(12, "1234567890")}-${random(12, "1234567890")}-${random(24)}`],
    ["a key of Stripe", () => `sk_live_${random(24)}`],
    ["a token of npm", () => `npm_${random(36)}`],
    ["a token of PyPI", () => `pypi-AgEIcHlwaS5vcmc${random(120)}`],
    ["a token of Hugging Face", () => `hf_${random(34)}`],
    ["a key of SendGrid", () => `SG.${random(22)}.${random(43)}`],
    ["a token of DigitalOcean", () => `dop_v1_${random(64, hex)}`],
  ])("%s", async (name, make) => {
    const body = `Use this:\n\`${await make()}\`.`;
    const reply = await service.rest("posts", { key: author.key, body: { title: "Look", body } });
    expect([reply.status, reply.body]).toMatchObject([400, { error: "bad_input", field: "body" }]);
    expect(reply.body.message).toBe(
      `body holds ${name}, which everybody could use. Leave it out, and revoke it if anybody has seen it.`,
    );
  });

  it.each([
    "Set GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx first.",
    "auth({ token: 'ghp_PersonalAccessToken01245678900000000' })",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "A file that begins with -----BEGIN RSA PRIVATE KEY----- must not be in a repository, whatever else it says after that.",
    `Docs of AWS show ${["AKIA", "IOSFODNN7", "EXAMPLE"].join("")}.`,
    "sk-proj-… is an API key, sk_live_… too, and task-based, risk-free, disk-backed are words.",
    `sk-ant-api03-${"your-key-".repeat(10)}`,
    `A hash: ${"0123456789abcdef".repeat(4)}, and base64: ${"QUJDREVGR0g=".repeat(9)}`,
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----",
  ])("but not what only talks of one: %s", async (body) => {
    expect(await service.rest("posts", { key: author.key, body: { title: "Look", body } })).toMatchObject({
      status: 201,
    });
  });
});
