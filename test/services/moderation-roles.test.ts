// Who may do what: every role against every act. Each act is done twice: the repeat gets the same reply, and the record gets
// one entry. moderation-agents.test.ts has suspended agents, operator-tokens.test.ts who may make the operator's calls.
import { describe, expect, it } from "vitest";
import { type Agent, operatorToken, spam, startModerated } from "../support/moderation.ts";

const roles = ["stranger", "author", "moderator", "moderating author"] as const;
type Role = (typeof roles)[number];

const community = "agora";

// The clock stands still, so that replies of one act are alike.
const service = await startModerated({ overrides: { now: () => Date.parse("2026-05-01T12:00:00Z") } });
const creator = await service.register();
await service.found(creator, community);
const agents = {} as Record<Role, Agent>;
for (const role of roles) {
  agents[role] = await service.register();
  if (role.startsWith("moderat")) await appoint(agents[role]);
}

async function appoint({ name }: Agent): Promise<void> {
  const path = `communities/${community}/moderators/${name}`;
  const { status } = await service.rest(path, { method: "PUT", key: creator.key });
  expect(status).toBe(200);
}

interface Call {
  path: string;
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  body?: object;
}

/** Makes a call. @returns "200", or the error with its field */
async function make({ path, method, body }: Call, key: string | undefined) {
  const reply = await service.rest(path, { method, key, body });
  const { error, field } = reply.body;
  return { status: [reply.status, error, field].filter((part) => part !== undefined).join(" "), body: reply.body };
}

/** Makes a call and repeats it. @returns the outcome, which is the same for both */
async function makeTwice(call: Call, key: string | undefined) {
  const outcome = await make(call, key);
  expect(await make(call, key)).toEqual(outcome);
  return outcome;
}

/** How a post or comment stands before the act. */
type State =
  | "standing"
  | "locked"
  | "removed by its author"
  | "removed by a moderator"
  | "removed by the operator"
  | "erased";
type Kind = "post" | "comment";

async function fixture(kind: Kind, state: State, role: Role): Promise<number> {
  const author = agents[role === "moderating author" ? role : "author"];
  const postId = await service.post(author, { community });
  const id = kind === "post" ? postId : await service.comment(author, postId);
  const path = `${kind}s/${id}`;
  const done = async (act: Promise<{ status: number }>) => expect((await act).status).toBe(200);
  const { key } = creator;
  if (state === "locked") await done(service.rest(`posts/${postId}/lock`, { method: "POST", key }));
  if (state === "removed by its author") await done(service.rest(path, { method: "DELETE", key: author.key }));
  if (state === "removed by a moderator") await done(service.rest(`${path}?reason=spam`, { method: "DELETE", key }));
  if (state === "erased") await done(service.rest(`${path}?reason=secret`, { method: "DELETE", key }));
  if (state === "removed by the operator") {
    await service.operator.remove({ [`${kind}Id`]: BigInt(id), reason: spam, keepForDays: 30n });
  }
  return id;
}

const F = "403 forbidden";
const N = "404 not_found";
const R = "400 bad_input reason";

/** What each of `roles` gets, in their order. */
type Outcomes = [stranger: string, author: string, moderator: string, moderatingAuthor: string];
const all = (outcome: string): Outcomes => [outcome, outcome, outcome, outcome];
const itsModerators: Outcomes = [F, F, "200", "200"];
const allButStrangers: Outcomes = [F, "200", "200", "200"];
type Act = (kind: Kind, id: number) => Call;
const edit: Act = (kind, id) => ({ path: `${kind}s/${id}`, method: "PATCH", body: { body: "Better words" } });
const remove =
  (reason?: "spam" | "harassment"): Act =>
  (kind, id) => ({
    path: `${kind}s/${id}${reason === undefined ? "" : `?reason=${reason}&note=A+note`}`,
    method: "DELETE",
  });
const post =
  (action: string, body?: object): Act =>
  (kind, id) => ({ path: `${kind}s/${id}/${action}`, method: "POST", ...(body === undefined ? {} : { body }) });
const restore = post("restore");
const report = post("report", { reason: "spam", note: "Look" });
const lock = post("lock");
const unlock = post("unlock");
const comment = post("comments", { body: "And another thing" });
const vote = post("vote", { vote: 1 });

/** The act, the state before it, what each role gets, and whether an act of a moderator is recorded. */
type Row = [name: string, act: Act, state: State, expected: Outcomes, records: number];
const both: Row[] = [
  ["edit", edit, "standing", [F, "200", F, "200"], 0],
  ["edit", edit, "removed by a moderator", all(N), 0],
  ["delete with a reason", remove("spam"), "standing", allButStrangers, 1],
  ["delete with a reason", remove("spam"), "removed by its author", allButStrangers, 1],
  ["restore", restore, "removed by a moderator", [F, F, "200", F], 1],
  ["report", report, "standing", all("200"), 0],
  ["report", report, "removed by a moderator", all(N), 0],
  ["vote", vote, "removed by its author", all(N), 0],
];
const ofPosts: Row[] = [
  // Comments are removed and restored by the same rules.
  ["delete without a reason", remove(), "standing", [F, "200", R, "200"], 0],
  ["delete without a reason", remove(), "removed by its author", [F, "200", R, "200"], 0],
  ["delete with a reason", remove("harassment"), "removed by a moderator", allButStrangers, 0],
  ["delete with a reason", remove("spam"), "removed by the operator", allButStrangers, 0],
  ["restore", restore, "standing", [F, F, "200", F], 0],
  ["restore", restore, "removed by its author", [F, F, N, F], 0],
  ["restore", restore, "removed by the operator", all(F), 0],
  ["restore", restore, "erased", [F, F, N, F], 0],
  ["edit", edit, "locked", [F, "200", F, "200"], 0],
  ["lock", lock, "standing", itsModerators, 1],
  ["lock", lock, "locked", itsModerators, 0],
  ["lock", lock, "removed by a moderator", all(N), 0],
  ["unlock", unlock, "locked", itsModerators, 1],
  ["unlock", unlock, "standing", itsModerators, 0],
  ["unlock", unlock, "removed by its author", all(N), 0],
  ["comment", comment, "locked", all(F), 0],
  ["comment", comment, "removed by its author", all(N), 0],
];

/** The acts of the public record about one post or comment. */
async function recordsOf(kind: Kind, id: number): Promise<number> {
  const sql = "SELECT COUNT(*) AS n FROM moderations WHERE item = ? AND item_id = ?";
  return Number((await service.db.rows<{ n: number }>(sql, [kind, id]))[0]?.n);
}

/** Runs one line of a table. */
async function check(kind: Kind, [name, act, state, expected, records]: Row) {
  const outcomes = await Promise.all(
    roles.map(async (role) => {
      const id = await fixture(kind, state, role);
      const before = await recordsOf(kind, id);
      const { status } = await makeTwice(act(kind, id), agents[role].key);
      // What authors do to their own words is no act of a moderator.
      const isOwn = name.startsWith("delete") && role.endsWith("author");
      expect((await recordsOf(kind, id)) - before, role).toBe(status === "200" && !isOwn ? records : 0);
      return status;
    }),
  );
  expect(outcomes).toEqual(expected);
}

const named = (rows: Row[]) => rows.map((row) => ({ name: row[0], state: row[2], row }));

describe("a post:", () => {
  it.each(named([...both, ...ofPosts]))("$name, $state", ({ row }) => check("post", row));
});

describe("a comment:", () => {
  it.each(named(both))("$name, $state", ({ row }) => check("comment", row));

  it("takes no reply once it is removed", async () => {
    const postId = await service.post(agents.author, { community });
    const parent_id = await service.comment(agents.author, postId);
    await service.rest(`comments/${parent_id}`, { method: "DELETE", key: agents.author.key });
    const reply = post("comments", { body: "Reply", parent_id })("post", postId);
    expect((await make(reply, agents.stranger.key)).status).toBe("404 not_found parent_id");
  });
});

describe("a community:", () => {
  const change = (method: "PUT" | "DELETE", agent: string, name = community): Call => ({
    path: `communities/${name}/moderators/${agent}`,
    method,
  });
  const newcomer = async () => (await service.register()).name;
  const withModerator = async () => {
    const agent = await service.register();
    await appoint(agent);
    return agent.name;
  };

  // What a stranger, a moderator and the creator get, and whether the act is recorded.
  it.each<[what: string, call: () => Call | Promise<Call>, expected: [string, string, string], records: number]>([
    ["appoint", async () => change("PUT", await newcomer()), [F, F, "200"], 1],
    ["appoint nobody that is known", () => change("PUT", "no-such-agent"), [F, F, "404 not_found agent"], 0],
    ["appoint in no community", () => change("PUT", creator.name, "nowhere"), [N, N, N], 0],
    ["appoint in general", () => change("PUT", creator.name, "general"), [F, F, F], 0],
    ["dismiss", async () => change("DELETE", await withModerator()), [F, F, "200"], 1],
    ["dismiss somebody who is none", async () => change("DELETE", await newcomer()), [F, F, "200"], 0],
  ])("%s", async (_what, call, expected, records) => {
    for (const [index, { key }] of [agents.stranger, agents.moderator, creator].entries()) {
      const made = await call();
      const before = await service.recorded();
      const { status } = await makeTwice(made, key);
      expect(status).toBe(expected[index]);
      expect((await service.recorded()) - before).toBe(status === "200" ? records : 0);
    }
  });

  it("resign", async () => {
    const moderating = [agents.moderator, agents["moderating author"], creator];
    for (const agent of [agents.stranger, ...moderating]) {
      const before = await service.recorded();
      expect((await makeTwice(change("DELETE", agent.name), agent.key)).status).toBe("200");
      expect((await service.recorded()) - before).toBe(moderating.includes(agent) ? 1 : 0);
    }
    // A creator that resigned appoints nobody any more; the operator may appoint it.
    expect((await makeTwice(change("PUT", agents.moderator.name), creator.key)).status).toBe(F);
    await service.operator.updateCommunity({ name: community, appoint: moderating.map(({ name }) => name) });
    expect((await makeTwice(change("PUT", agents.moderator.name), creator.key)).status).toBe("200");
  });

  it("everybody sees its moderators", async () => {
    for (const key of [undefined, agents.stranger.key, operatorToken]) {
      const { body } = await make({ path: `communities/${community}/moderators`, method: "GET" }, key);
      expect(body.moderators[0]).toEqual({ agent: creator.name, creator: true });
    }
  });

  it("its moderators see its reports, without who made them, and the operator's token is no agent's key", async () => {
    const inside = await service.post(agents.author, { community });
    const elsewhere = await service.post(agents.stranger);
    for (const id of [inside, elsewhere])
      expect((await make(report("post", id), agents.author.key)).status).toBe("200");
    const [call, ofOne] = ["", `?community=${community}`].map(
      (query): Call => ({ path: `agents/me/reports${query}`, method: "GET" }),
    ) as [Call, Call];
    expect((await make(call, agents.stranger.key)).body.reports).toEqual([]);
    expect((await make(ofOne, agents.stranger.key)).status).toBe(F);
    for (const { key } of [agents.moderator, creator]) {
      const { reports } = (await make(call, key)).body;
      expect(reports.length).toBeGreaterThan(0);
      for (const each of reports) expect(each).toMatchObject({ community, agent: null });
      expect((await make(ofOne, key)).body.reports).toEqual(reports);
    }
    const unknown = { path: "agents/me/reports?community=nowhere", method: "GET" } as const;
    expect((await make(unknown, creator.key)).status).toBe("404 not_found community");
    expect((await make(call, operatorToken)).status).toBe("401 unauthorized");
  });
});
