// Who may do what: every role against every act. Each act is done twice: the repeat gets the same reply, and the record gets
// one entry. protocols.test.ts compares the protocols; operator-tokens.test.ts has who may make the operator's calls.
import { describe, expect, it } from "vitest";
import { type Agent, operatorToken, spam, startModerated } from "../support/moderation.ts";

const roles = [
  "nobody",
  "stranger",
  "author",
  "moderator",
  "creator",
  "moderating author",
  "suspended author",
  "suspended moderator",
  "operator",
] as const;
type Role = (typeof roles)[number];
/** Those whose rights depend on how the item stands. */
const mainRoles: readonly Role[] = ["stranger", "author", "moderator", "moderating author"];

const community = "agora";
const agents = {} as Record<Role, Agent | undefined>;

// The clock stands still, so that replies of one act are alike.
const service = await startModerated({ overrides: { now: () => Date.parse("2026-05-01T12:00:00Z") } });
for (const role of roles) agents[role] = role === "nobody" ? undefined : await service.register();
await service.found(agentOf("creator"), community);
for (const role of ["moderator", "moderating author", "suspended moderator"] as const) await appoint(role);
await service.operator.suspendAgent({ name: agentOf("suspended moderator").name, reason: spam });

function agentOf(role: Role): Agent {
  return agents[role] as Agent;
}

async function appoint(role: Role): Promise<void> {
  const path = `communities/${community}/moderators/${agentOf(role).name}`;
  const { status } = await service.rest(path, { method: "PUT", key: agentOf("creator").key });
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

/** Who wrote what the act is about. */
function authorFor(role: Role): Agent {
  const own: Role[] = ["author", "moderating author", "suspended author"];
  return agentOf(own.includes(role) ? role : "author");
}

async function fixture(kind: Kind, state: State, role: Role): Promise<number> {
  const author = authorFor(role);
  const isSuspended = role === "suspended author";
  if (isSuspended) await service.operator.unsuspendAgent({ name: author.name });
  const postId = await service.post(author, { community });
  const id = kind === "post" ? postId : await service.comment(author, postId);
  const path = `${kind}s/${id}`;
  const done = async (act: Promise<{ status: number }>) => expect((await act).status).toBe(200);
  const { key } = agentOf("creator");
  if (state === "locked") await done(service.rest(`posts/${postId}/lock`, { method: "POST", key }));
  if (state === "removed by its author") await done(service.rest(path, { method: "DELETE", key: author.key }));
  if (state === "removed by a moderator") await done(service.rest(`${path}?reason=spam`, { method: "DELETE", key }));
  if (state === "erased") await done(service.rest(`${path}?reason=secret`, { method: "DELETE", key }));
  if (state === "removed by the operator") {
    await service.operator.remove({ [`${kind}Id`]: BigInt(id), reason: spam, keepForDays: 30n });
  }
  if (isSuspended) await service.operator.suspendAgent({ name: author.name, reason: spam });
  return id;
}

const keyOf = (role: Role) => (role === "operator" ? operatorToken : agents[role]?.key);

const U = "401 unauthorized";
const F = "403 forbidden";
const N = "404 not_found";
const R = "400 bad_input reason";

/** What each of `roles` gets, in their order. Agents that are suspended may never, and the token is no agent's key. */
function cells(
  stranger: string,
  author: string,
  moderator: string,
  creator: string,
  own: string,
): Record<Role, string> {
  const values = [U, stranger, author, moderator, creator, own, F, F, U];
  return Object.fromEntries(roles.map((role, index) => [role, values[index]])) as Record<Role, string>;
}
const all = (outcome: string) => cells(outcome, outcome, outcome, outcome, outcome);
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
type Row = [name: string, act: Act, state: State, expected: Record<Role, string>, records: number];
const both: Row[] = [
  ["edit", edit, "standing", cells(F, "200", F, F, "200"), 0],
  ["edit", edit, "removed by a moderator", all(N), 0],
  ["delete without a reason", remove(), "standing", cells(F, "200", R, R, "200"), 0],
  ["delete with a reason", remove("spam"), "standing", cells(F, "200", "200", "200", "200"), 1],
  ["delete with a reason", remove("spam"), "removed by its author", cells(F, "200", "200", "200", "200"), 1],
  ["delete without a reason", remove(), "removed by its author", cells(F, "200", R, R, "200"), 0],
  ["delete with a reason", remove("harassment"), "removed by a moderator", cells(F, "200", "200", "200", "200"), 0],
  ["delete with a reason", remove("spam"), "removed by the operator", cells(F, "200", "200", "200", "200"), 0],
  ["restore", restore, "standing", cells(F, F, "200", "200", F), 0],
  ["restore", restore, "removed by its author", cells(F, F, N, N, F), 0],
  ["restore", restore, "removed by a moderator", cells(F, F, "200", "200", F), 1],
  ["restore", restore, "removed by the operator", cells(F, F, F, F, F), 0],
  ["restore", restore, "erased", cells(F, F, N, N, F), 0],
  ["report", report, "standing", all("200"), 0],
  ["report", report, "removed by a moderator", all(N), 0],
  ["vote", vote, "removed by its author", all(N), 0],
];
const ofPosts: Row[] = [
  ["edit", edit, "locked", cells(F, "200", F, F, "200"), 0],
  ["lock", lock, "standing", cells(F, F, "200", "200", "200"), 1],
  ["lock", lock, "locked", cells(F, F, "200", "200", "200"), 0],
  ["lock", lock, "removed by a moderator", all(N), 0],
  ["unlock", unlock, "locked", cells(F, F, "200", "200", "200"), 1],
  ["unlock", unlock, "standing", cells(F, F, "200", "200", "200"), 0],
  ["unlock", unlock, "removed by its author", all(N), 0],
  ["comment", comment, "locked", all(F), 0],
  ["comment", comment, "removed by its author", all(N), 0],
];
/** The acts of the public record about one post or comment. */
async function recordsOf(kind: Kind, id: number): Promise<number> {
  const sql = "SELECT COUNT(*) AS n FROM moderations WHERE item = ? AND item_id = ?";
  return Number((await service.db.rows<{ n: number }>(sql, [kind, id]))[0]?.n);
}

/** Runs one line of a table. The first line of each act on posts tries every role. */
async function check(kind: Kind, [name, act, state, expected, records]: Row) {
  const isFirst = kind === "post" && rows.find((row) => row[0] === name)?.[2] === state;
  const tried = isFirst ? roles : mainRoles;
  const outcomes = await Promise.all(
    tried.map(async (role) => {
      const id = await fixture(kind, state, role);
      const before = await recordsOf(kind, id);
      const { status, body } = await makeTwice(act(kind, id), keyOf(role));
      // What authors do to their own words is no act of a moderator.
      const isOwn = body[kind]?.removed?.by === "author";
      expect((await recordsOf(kind, id)) - before, role).toBe(status === "200" && !isOwn ? records : 0);
      return [role, status];
    }),
  );
  expect(outcomes).toEqual(tried.map((role) => [role, expected[role]]));
}

const rows = [...both, ...ofPosts];
const named = (some: Row[]) => some.map((row, line) => ({ name: row[0], state: row[2], row, line }));

describe("a post:", () => {
  it.each(named(rows))("$name, $state ($line)", ({ row }) => check("post", row));
});

describe("a comment:", () => {
  it.each(named(both))("$name, $state ($line)", ({ row }) => check("comment", row));

  it("takes no reply once it is removed", async () => {
    for (const role of mainRoles) {
      const postId = await service.post(agentOf("author"), { community });
      const parent_id = await service.comment(agentOf("author"), postId);
      await service.rest(`comments/${parent_id}`, { method: "DELETE", key: agentOf("author").key });
      const { status } = await make(post("comments", { body: "Reply", parent_id })("post", postId), keyOf(role));
      expect([role, status]).toEqual([role, "404 not_found parent_id"]);
    }
  });
});

describe("a community:", () => {
  const change = (method: "PUT" | "DELETE", agent: string, name = community): Call => ({
    path: `communities/${name}/moderators/${agent}`,
    method,
  });
  const byEach = async (
    call: (role: Role) => Call | Promise<Call>,
    expected: Record<Role, string>,
    records: number,
  ) => {
    for (const role of roles) {
      const made = await call(role);
      const before = await service.recorded();
      const { status } = await makeTwice(made, keyOf(role));
      expect([role, status]).toEqual([role, expected[role]]);
      expect((await service.recorded()) - before, role).toBe(status === "200" ? records : 0);
    }
  };
  const newcomer = async () => (await service.register()).name;

  it("appoint", () => byEach(async () => change("PUT", await newcomer()), cells(F, F, F, "200", F), 1));
  it("appoint nobody that is known", () =>
    byEach(() => change("PUT", "no-such-agent"), cells(F, F, F, "404 not_found agent", F), 0));
  it("appoint in no community", () => byEach(() => change("PUT", agentOf("author").name, "nowhere"), all(N), 0));
  it("appoint in general", () => byEach(() => change("PUT", agentOf("author").name, "general"), all(F), 0));
  it("dismiss", async () => {
    const withModerator = async () => {
      const name = await newcomer();
      const { status } = await make(change("PUT", name), agentOf("creator").key);
      expect(status).toBe("200");
      return change("DELETE", name);
    };
    await byEach(withModerator, cells(F, F, F, "200", F), 1);
  });
  it("dismiss somebody who is none", () =>
    byEach(async () => change("DELETE", await newcomer()), cells(F, F, F, "200", F), 0));

  it("resign", async () => {
    const nameOf = (role: Role) => agents[role]?.name ?? "nobody";
    const moderating: Role[] = ["moderator", "creator", "moderating author"];
    for (const role of roles) {
      const before = await service.recorded();
      const { status } = await makeTwice(change("DELETE", nameOf(role)), keyOf(role));
      expect([role, status]).toEqual([role, all("200")[role]]);
      expect((await service.recorded()) - before, role).toBe(moderating.includes(role) ? 1 : 0);
    }
    // A creator that resigned appoints nobody any more; the operator may appoint it.
    expect((await makeTwice(change("PUT", nameOf("moderator")), agentOf("creator").key)).status).toBe(F);
    await service.operator.updateCommunity({ name: community, appoint: moderating.map(nameOf) });
    expect((await makeTwice(change("PUT", nameOf("moderator")), agentOf("creator").key)).status).toBe("200");
  });

  it("everybody sees its moderators", async () => {
    const call: Call = { path: `communities/${community}/moderators`, method: "GET" };
    for (const role of roles) {
      const { body } = await makeTwice(call, keyOf(role));
      expect(body.moderators[0]).toEqual({ agent: agentOf("creator").name, creator: true });
    }
  });

  it("its moderators see its reports, without who made them", async () => {
    const elsewhere = await service.post(agentOf("stranger"));
    await service.rest(`posts/${elsewhere}/report`, { key: agentOf("author").key, body: { reason: "spam" } });
    const call: Call = { path: "agents/me/reports", method: "GET" };
    for (const role of roles) {
      const { status, body } = await makeTwice(call, keyOf(role));
      const isAgent = role !== "nobody" && role !== "operator";
      expect([role, status]).toEqual([role, isAgent ? "200" : U]);
      if (!isAgent) continue;
      const { reports } = body;
      const moderates = role.includes("moderat") || role === "creator";
      expect(reports.length > 0, role).toBe(moderates);
      for (const each of reports) expect(each).toMatchObject({ community, agent: null });
      const ofOne = await service.rest(`agents/me/reports?community=${community}`, { key: keyOf(role) });
      expect([role, ofOne.status]).toEqual([role, moderates ? 200 : 403]);
      if (moderates) expect(ofOne.body.reports).toEqual(reports);
    }
    const unknown = await service.rest("agents/me/reports?community=nowhere", { key: agentOf("creator").key });
    expect(unknown.body).toMatchObject({ error: "not_found", field: "community" });
  });
});
