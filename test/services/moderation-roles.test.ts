// Who may do what: every role against every act, over REST, Connect and gRPC. One protocol performs the act, and another
// repeats it: each must get the same reply, and the record gets one entry.
import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { errorStatus } from "../../src/errors.ts";
import { type Agent, type Moderated, operatorToken, spam, startModerated } from "../support/moderation.ts";
import { restView } from "./rest-view.ts";

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
const unknownId = 9_007_199_254_740_991;
let service: Moderated;
const agents = {} as Record<Role, Agent | undefined>;

beforeAll(async () => {
  // The clock stands still, so that replies of one act are alike.
  service = await startModerated({ overrides: { now: () => Date.parse("2026-05-01T12:00:00Z") } });
  for (const role of roles) agents[role] = role === "nobody" ? undefined : await service.register();
  await service.found(agentOf("creator"), community);
  for (const role of ["moderator", "moderating author", "suspended moderator"] as const) await appoint(role);
  await service.operator.suspendAgent({ name: agentOf("suspended moderator").name, reason: spam });
});

function agentOf(role: Role): Agent {
  return agents[role] as Agent;
}

async function appoint(role: Role): Promise<void> {
  const path = `communities/${community}/moderators/${agentOf(role).name}`;
  const { status } = await service.rest(path, { method: "PUT", key: agentOf("creator").key });
  expect(status).toBe(200);
}

/** A call in each of its two forms. */
interface Call {
  path: string;
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  body?: object;
  rpc: DescMethodUnary;
  request: object;
}

type Outcome = { status: string; reply?: unknown };

async function overRest({ path, method, body }: Call, key: string | undefined): Promise<Outcome> {
  const reply = await service.rest(path, { method, key, body });
  const { ok, ...rest } = reply.body;
  expect(ok).toBe(reply.status === 200);
  if (ok) return { status: "200", reply: rest };
  return { status: [reply.status, rest.error, rest.field].filter((part) => part !== undefined).join(" ") };
}

async function overRpc(
  { rpc, request }: Call,
  key: string | undefined,
  protocol: "connect" | "grpc",
): Promise<Outcome> {
  const client = service.connect(rpc.parent as DescService, protocol) as Record<string, unknown>;
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  try {
    const call = client[rpc.localName] as (request: object, options: object) => Promise<never>;
    return { status: "200", reply: restView(rpc.output, await call(request, { headers })) };
  } catch (error) {
    const [detail] = ConnectError.from(error).findDetails(ErrorDetailSchema);
    if (detail === undefined) throw error;
    const status = errorStatus[detail.error as keyof typeof errorStatus];
    return {
      status: [status, detail.error, detail.field].filter((part) => part !== undefined && part !== "").join(" "),
    };
  }
}

let turn = 0;

/** Makes the call over two protocols, others each time. @returns the outcome, which is the same for both */
async function overTwo(call: Call, key: string | undefined): Promise<Outcome> {
  const ways = [() => overRest(call, key), () => overRpc(call, key, "connect"), () => overRpc(call, key, "grpc")];
  turn++;
  const over = (index: number) => (ways[index % ways.length] as () => Promise<Outcome>)();
  const outcome = await over(turn);
  expect(await over(turn + 1)).toEqual(outcome);
  return outcome;
}

/** How a post or comment stands before the act. */
const states = [
  "standing",
  "locked",
  "removed by its author",
  "removed by a moderator",
  "removed by the operator",
  "erased",
  "unknown",
] as const;
type State = (typeof states)[number];
type Kind = "post" | "comment";

/** Who wrote what the act is about. */
function authorFor(role: Role): Agent {
  const own: Role[] = ["author", "moderating author", "suspended author"];
  return agentOf(own.includes(role) ? role : "author");
}

async function fixture(kind: Kind, state: State, role: Role): Promise<number> {
  if (state === "unknown") return unknownId;
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

const update = { body: "Better words" };
type Act = (kind: Kind, id: number) => Call;
const edit: Act = (kind, id) => ({
  path: `${kind}s/${id}`,
  method: "PATCH",
  body: update,
  rpc: kind === "post" ? PostService.method.updatePost : CommentService.method.updateComment,
  request: { id: BigInt(id), ...update },
});
const remove =
  (reason?: "spam" | "harassment"): Act =>
  (kind, id) => ({
    path: `${kind}s/${id}${reason === undefined ? "" : `?reason=${reason}&note=A+note`}`,
    method: "DELETE",
    rpc: kind === "post" ? PostService.method.deletePost : CommentService.method.deleteComment,
    request: {
      id: BigInt(id),
      ...(reason === undefined
        ? {}
        : { reason: reason === "spam" ? spam : ModerationReason.HARASSMENT, note: "A note" }),
    },
  });
const restore: Act = (kind, id) => ({
  path: `${kind}s/${id}/restore`,
  method: "POST",
  rpc: kind === "post" ? PostService.method.restorePost : CommentService.method.restoreComment,
  request: { id: BigInt(id) },
});
const report: Act = (kind, id) => ({
  path: `${kind}s/${id}/report`,
  method: "POST",
  body: { reason: "spam", note: "Look" },
  rpc: kind === "post" ? PostService.method.reportPost : CommentService.method.reportComment,
  request: { id: BigInt(id), reason: spam, note: "Look" },
});
const lock: Act = (_kind, id) => ({
  path: `posts/${id}/lock`,
  method: "POST",
  rpc: PostService.method.lockPost,
  request: { id: BigInt(id) },
});
const unlock: Act = (_kind, id) => ({
  ...lock("post", id),
  path: `posts/${id}/unlock`,
  rpc: PostService.method.unlockPost,
});
const comment: Act = (_kind, id) => ({
  path: `posts/${id}/comments`,
  method: "POST",
  body: { body: "And another thing" },
  rpc: CommentService.method.createComment,
  request: { id: BigInt(id), body: "And another thing" },
});
const vote: Act = (kind, id) => ({
  path: `${kind}s/${id}/vote`,
  method: "POST",
  body: { vote: 1 },
  rpc: kind === "post" ? PostService.method.votePost : CommentService.method.voteComment,
  request: { id: BigInt(id), vote: 1 },
});

/** The act, the state before it, what each role gets, and whether an act of a moderator is recorded. */
type Row = [name: string, act: Act, state: State, expected: Record<Role, string>, records: number];
const both: Row[] = [
  ["edit", edit, "standing", cells(F, "200", F, F, "200"), 0],
  ["edit", edit, "removed by its author", all(N), 0],
  ["edit", edit, "removed by a moderator", all(N), 0],
  ["edit", edit, "unknown", all(N), 0],
  ["delete without a reason", remove(), "standing", cells(F, "200", R, R, "200"), 0],
  ["delete with a reason", remove("spam"), "standing", cells(F, "200", "200", "200", "200"), 1],
  ["delete with a reason", remove("spam"), "removed by its author", cells(F, "200", "200", "200", "200"), 1],
  ["delete without a reason", remove(), "removed by its author", cells(F, "200", R, R, "200"), 0],
  ["delete with a reason", remove("harassment"), "removed by a moderator", cells(F, "200", "200", "200", "200"), 0],
  ["delete with a reason", remove("spam"), "removed by the operator", cells(F, "200", "200", "200", "200"), 0],
  ["delete", remove("spam"), "unknown", all(N), 0],
  ["restore", restore, "standing", cells(F, F, "200", "200", F), 0],
  ["restore", restore, "removed by its author", cells(F, F, N, N, F), 0],
  ["restore", restore, "removed by a moderator", cells(F, F, "200", "200", F), 1],
  ["restore", restore, "removed by the operator", cells(F, F, F, F, F), 0],
  ["restore", restore, "erased", cells(F, F, N, N, F), 0],
  ["restore", restore, "unknown", all(N), 0],
  ["report", report, "standing", all("200"), 0],
  ["report", report, "removed by a moderator", all(N), 0],
  ["report", report, "unknown", all(N), 0],
  ["vote", vote, "removed by its author", all(N), 0],
  ["vote", vote, "removed by a moderator", all(N), 0],
  ["vote", vote, "unknown", all(N), 0],
];
const ofPosts: Row[] = [
  ["edit", edit, "locked", cells(F, "200", F, F, "200"), 0],
  ["lock", lock, "standing", cells(F, F, "200", "200", "200"), 1],
  ["lock", lock, "locked", cells(F, F, "200", "200", "200"), 0],
  ["lock", lock, "removed by a moderator", all(N), 0],
  ["lock", lock, "unknown", all(N), 0],
  ["unlock", unlock, "locked", cells(F, F, "200", "200", "200"), 1],
  ["unlock", unlock, "standing", cells(F, F, "200", "200", "200"), 0],
  ["unlock", unlock, "removed by its author", all(N), 0],
  ["comment", comment, "locked", all(F), 0],
  ["comment", comment, "removed by its author", all(N), 0],
];

/** Runs one line of a table. The first line of each act tries every role. */
async function check(kind: Kind, rows: Row[], [name, act, state, expected, records]: Row) {
  const isFirst = rows.find((row) => row[0] === name)?.[2] === state;
  const outcomes: Partial<Record<Role, string>> = {};
  const tried = isFirst ? roles : mainRoles;
  for (const role of tried) {
    const id = await fixture(kind, state, role);
    const before = await service.recorded();
    const { status, reply } = await overTwo(act(kind, id), keyOf(role));
    outcomes[role] = status;
    const ofModerator = status === "200" && (reply as Record<string, { removed?: { by: string } }>)[kind]?.removed?.by;
    const isOwn = ofModerator === "author";
    expect((await service.recorded()) - before, role).toBe(status === "200" && !isOwn ? records : 0);
  }
  expect(outcomes).toEqual(Object.fromEntries(tried.map((role) => [role, expected[role]])));
}

describe("a post:", () => {
  const rows = [...both, ...ofPosts];
  it.each(rows.map((row, line) => ({ name: row[0], state: row[2], row, line })))("$name, $state ($line)", ({ row }) =>
    check("post", rows, row),
  );
});

describe("a comment:", () => {
  it.each(both.map((row, line) => ({ name: row[0], state: row[2], row, line })))("$name, $state ($line)", ({ row }) =>
    check("comment", both, row),
  );

  it("takes no reply once it is removed", async () => {
    const outcomes: Partial<Record<Role, string>> = {};
    for (const role of mainRoles) {
      const postId = await service.post(agentOf("author"), { community });
      const parent = await service.comment(agentOf("author"), postId);
      await service.rest(`comments/${parent}`, { method: "DELETE", key: agentOf("author").key });
      const body = { body: "Reply" };
      const call = { ...comment("comment", postId), body: { ...body, parent_id: parent } };
      outcomes[role] = (
        await overTwo({ ...call, request: { id: BigInt(postId), ...body, parentId: BigInt(parent) } }, keyOf(role))
      ).status;
    }
    expect(outcomes).toEqual(Object.fromEntries(mainRoles.map((role) => [role, "404 not_found parent_id"])));
  });
});

describe("a community:", () => {
  const change = (method: "PUT" | "DELETE", agent: string, name = community): Call => ({
    path: `communities/${name}/moderators/${agent}`,
    method,
    rpc: method === "PUT" ? CommunityService.method.appointModerator : CommunityService.method.dismissModerator,
    request: { name, agent },
  });
  const byEach = async (
    call: (role: Role) => Call | Promise<Call>,
    expected: Record<Role, string>,
    records: number,
  ) => {
    const outcomes: Partial<Record<Role, string>> = {};
    for (const role of roles) {
      const made = await call(role);
      const before = await service.recorded();
      const { status } = await overTwo(made, keyOf(role));
      outcomes[role] = status;
      expect((await service.recorded()) - before, role).toBe(status === "200" ? records : 0);
    }
    expect(outcomes).toEqual(expected);
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
      const { status } = await overRest(change("PUT", name), agentOf("creator").key);
      expect(status).toBe("200");
      return change("DELETE", name);
    };
    await byEach(withModerator, cells(F, F, F, "200", F), 1);
  });
  it("dismiss somebody who is none", () =>
    byEach(async () => change("DELETE", await newcomer()), cells(F, F, F, "200", F), 0));

  it("resign", async () => {
    const nameOf = (role: Role) => agents[role]?.name ?? "nobody";
    const outcomes: Partial<Record<Role, string>> = {};
    const records: Partial<Record<Role, number>> = {};
    for (const role of roles) {
      const before = await service.recorded();
      outcomes[role] = (await overTwo(change("DELETE", nameOf(role)), keyOf(role))).status;
      records[role] = (await service.recorded()) - before;
    }
    expect(outcomes).toEqual(all("200"));
    expect(records).toEqual({
      ...Object.fromEntries(roles.map((role) => [role, 0])),
      moderator: 1,
      creator: 1,
      "moderating author": 1,
    });
    // A creator that resigned appoints nobody any more; the operator may appoint it.
    expect((await overTwo(change("PUT", nameOf("moderator")), agentOf("creator").key)).status).toBe(F);
    const appointed = ["creator", "moderator", "moderating author"].map((role) => nameOf(role as Role));
    await service.operator.updateCommunity({ name: community, appoint: appointed });
    expect((await overTwo(change("PUT", nameOf("moderator")), agentOf("creator").key)).status).toBe("200");
  });

  it("everybody sees its moderators", async () => {
    const call: Call = {
      path: `communities/${community}/moderators`,
      method: "GET",
      rpc: CommunityService.method.listModerators,
      request: { name: community },
    };
    for (const role of roles) {
      const { reply } = await overTwo(call, keyOf(role));
      expect((reply as { moderators: object[] }).moderators[0]).toEqual({
        agent: agentOf("creator").name,
        creator: true,
      });
    }
  });

  it("its moderators see its reports, without who made them", async () => {
    const elsewhere = await service.post(agentOf("stranger"));
    await service.rest(`posts/${elsewhere}/report`, { key: agentOf("author").key, body: { reason: "spam" } });
    const call: Call = {
      path: "agents/me/reports",
      method: "GET",
      rpc: AgentService.method.listMyReports,
      request: {},
    };
    for (const role of roles) {
      const { status, reply } = await overTwo(call, keyOf(role));
      const isAgent = role !== "nobody" && role !== "operator";
      expect([role, status]).toEqual([role, isAgent ? "200" : U]);
      if (!isAgent) continue;
      const { reports } = reply as { reports: { community: string; agent: string | null }[] };
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

describe("the operator's calls", () => {
  const requests: Record<string, object> = {
    remove: { postId: 1n, reason: spam },
    removeAgentContent: { name: "no-such-agent", reason: spam },
    restore: { postId: 1n },
    lock: { postId: 1n },
    unlock: { postId: 1n },
    suspendAgent: { name: "no-such-agent", reason: spam },
    unsuspendAgent: { name: "no-such-agent" },
    revokeKeys: { name: "no-such-agent", reason: spam },
    eraseAgent: { name: "no-such-agent", reason: spam },
    updateCommunity: { name: "no-such-place" },
    listErasures: {},
    listReports: {},
    resolveReport: { id: 987_654_321n },
  };

  it("are all known here", () => {
    expect(Object.keys(ModerationService.method).toSorted()).toEqual(Object.keys(requests).toSorted());
  });

  it.each(Object.keys(requests))("%s is for nobody else", async (name) => {
    const rpc = (ModerationService.method as Record<string, DescMethodUnary>)[name] as DescMethodUnary;
    const call = { rpc, request: requests[name] as object, path: "", method: "POST" as const };
    for (const role of ["nobody", "stranger", "creator", "operator"] as const) {
      const { status } = await overRpc(call, keyOf(role), "grpc");
      if (role === "operator") expect(status).not.toBe(U);
      else expect([role, status]).toEqual([role, U]);
    }
  });

  it("have no REST address", async () => {
    const client = service.connect(ModerationService);
    await expect(client.listReports({})).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect((await service.rest("moderation/reports", { key: operatorToken })).status).toBe(404);
  });
});
