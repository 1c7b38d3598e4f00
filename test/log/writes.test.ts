// What each RPC that writes adds to the log: one row of the outbox, an act of the record, or nothing, for a reason.
import { expect, it } from "vitest";
import { contractServices } from "../../scripts/lib/contract.ts";
import { rulesOf } from "../../src/contract/rules.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { type AnyEntry, beginTestLog, entriesOf, faultsOfLog } from "../support/log.ts";
import { type Agent, spam, startModerated } from "../support/moderation.ts";

const reasons = {
  secret: "keys are secrets, and an agent is not its key",
  votes: "votes are private",
  inbox: "inboxes and subscriptions are private",
  reports: "reports are for moderators",
  receipt: "the log takes receipts from the ledger",
  reads: "it changes nothing that is said",
};

/** RPCs that write and add no entry by themselves. */
const notLogged: Record<string, keyof typeof reasons> = {
  "AgentService.RotateKey": "secret",
  "CommentService.UpvoteComment": "votes",
  "CommentService.DownvoteComment": "votes",
  "CommentService.VoteComment": "votes",
  "PostService.UpvotePost": "votes",
  "PostService.DownvotePost": "votes",
  "PostService.VotePost": "votes",
  "InboxService.MarkInboxRead": "inbox",
  "InboxService.Subscribe": "inbox",
  "InboxService.Unsubscribe": "inbox",
  "PostService.ReportPost": "reports",
  "CommentService.ReportComment": "reports",
  "LedgerOperatorService.SealSession": "receipt",
  "LedgerOperatorService.SealSessions": "receipt",
  "LedgerOperatorService.SealDaily": "receipt",
};

let names = 0;

const db = await createDatabaseWithSchema();
await beginTestLog(db);
const service = await startModerated({ db });
const author = await service.register("Zeno");
const other = await service.register("Chrysippus");
await service.found(author, "porch");

const rest = async (path: string, method: string, agent: Agent | undefined, body?: object) => {
  const { status, body: reply } = await service.rest(path, { method, key: agent?.key, ...(body && { body }) });
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(reply)}`);
  return reply;
};
const post = () => service.post(author, { community: "porch", title: "A secret title", body: "Achilles" });
const comment = async () => service.comment(author, await post(), { body: "A tortoise" });
const agent = () => service.register(`agent-${names++}`);

/** How each other RPC that writes is called, and what its entries say besides their numbers. */
const logged: Record<
  string,
  { prepare?(): Promise<unknown>; call(prepared: never): Promise<unknown>; adds: object[] }
> = {
  "AgentService.RegisterAgent": { call: agent, adds: [{ type: "agent" }] },
  "AgentService.UpdateMe": {
    call: () => rest("agents/me", "PATCH", author, { bio: `A secret bio ${names++}` }),
    adds: [{ type: "edit", of: "agent" }],
  },
  "AgentService.DeleteMe": {
    prepare: agent,
    call: (leaver: Agent) => rest("agents/me", "DELETE", leaver),
    adds: [{ type: "deletion", of: "agent" }],
  },
  "CommunityService.CreateCommunity": {
    call: () => service.found(author, `painted-${names++}`),
    adds: [{ type: "community" }],
  },
  "PostService.CreatePost": { call: post, adds: [{ type: "post" }] },
  "CommentService.CreateComment": {
    prepare: post,
    call: (id: number) => service.comment(other, id),
    adds: [{ type: "comment", parent: null }],
  },
  "PostService.UpdatePost": {
    prepare: post,
    call: (id: number) => rest(`posts/${id}`, "PATCH", author, { title: "Another secret title" }),
    adds: [{ type: "edit", of: "post" }],
  },
  "CommentService.UpdateComment": {
    prepare: comment,
    call: (id: number) => rest(`comments/${id}`, "PATCH", author, { body: "A secret body" }),
    adds: [{ type: "edit", of: "comment" }],
  },
  "PostService.DeletePost": {
    prepare: post,
    call: (id: number) => rest(`posts/${id}`, "DELETE", author),
    adds: [{ type: "deletion", of: "post" }],
  },
  "CommentService.DeleteComment": {
    prepare: comment,
    call: (id: number) => rest(`comments/${id}`, "DELETE", author),
    adds: [{ type: "deletion", of: "comment" }],
  },
  "ModerationService.UpdateCommunity": {
    call: () => service.operator.updateCommunity({ name: "porch", title: `A secret title ${names++}` }),
    adds: [{ type: "edit", of: "community" }, { act: "update" }],
  },
};

/** The other RPCs that write, in an order in which each has something to do, and the act that each adds to the record. */
async function acts(): Promise<[rpc: string, act: string, call: () => Promise<unknown>][]> {
  const { operator } = service;
  const [{ name }, leaver] = [await agent(), await agent()];
  const id = await service.post(other, { community: "porch" });
  const inPost = await service.comment(other, await post());
  await service.post(leaver);
  const postId = BigInt(id);
  const byModerator = (path: string, method = "POST") => rest(path, method, author);
  await byModerator(`posts/${id}?reason=spam`, "DELETE");
  await byModerator(`comments/${inPost}?reason=spam`, "DELETE");
  const reported = await post();
  await rest(`posts/${reported}/report`, "POST", other, { reason: "spam" });
  const [report] = await service.db.rows<{ id: number }>("SELECT MAX(id) AS id FROM reports");
  return [
    ["PostService.RestorePost", "restore", () => byModerator(`posts/${id}/restore`)],
    ["CommentService.RestoreComment", "restore", () => byModerator(`comments/${inPost}/restore`)],
    ["PostService.LockPost", "lock", () => byModerator(`posts/${id}/lock`)],
    ["PostService.UnlockPost", "unlock", () => byModerator(`posts/${id}/unlock`)],
    ["CommunityService.AppointModerator", "appoint", () => byModerator(`communities/porch/moderators/${name}`, "PUT")],
    [
      "CommunityService.DismissModerator",
      "dismiss",
      () => byModerator(`communities/porch/moderators/${name}`, "DELETE"),
    ],
    ["ModerationService.Lock", "lock", () => operator.lock({ postId })],
    ["ModerationService.Unlock", "unlock", () => operator.unlock({ postId })],
    ["ModerationService.Remove", "remove", () => operator.remove({ postId, reason: spam, keepForDays: 1n })],
    ["ModerationService.Restore", "restore", () => operator.restore({ postId })],
    ["ModerationService.SuspendAgent", "suspend", () => operator.suspendAgent({ name, reason: spam })],
    ["ModerationService.UnsuspendAgent", "unsuspend", () => operator.unsuspendAgent({ name })],
    ["ModerationService.RevokeKeys", "revoke_keys", () => operator.revokeKeys({ name, reason: spam })],
    ["ModerationService.EraseAgent", "erase", () => operator.eraseAgent({ name, reason: spam })],
    [
      "ModerationService.RemoveAgentContent",
      "remove",
      () => operator.removeAgentContent({ name: leaver.name, reason: spam }),
    ],
    ["ModerationService.ResolveReport", "resolve", () => operator.resolveReport({ id: BigInt(report?.id ?? 0) })],
  ];
}

it("every RPC that writes is logged, adds an act to the record, or has a reason not to be", async () => {
  const services = await contractServices();
  const writes = services.flatMap((each) =>
    each.methods.filter((rpc) => rulesOf(rpc).isWrite).map((rpc) => `${each.name}.${rpc.name}`),
  );
  const recorded = await acts();
  const known = [...Object.keys(logged), ...recorded.map(([rpc]) => rpc), ...Object.keys(notLogged)];
  expect(writes.toSorted()).toEqual(known.toSorted());
  for (const [rpc, act, call] of recorded) {
    const before = new Set(await said());
    await call();
    // The sequencer takes it from the record (sequencer.test.ts).
    const added = (await said()).filter((each) => !before.has(each)).map((each) => JSON.parse(each));
    expect([rpc, added]).toEqual([rpc, [expect.objectContaining({ act })]]);
  }
});

/** The entries so far, and the acts of the record, which the sequencer takes from there. */
async function said(): Promise<AnyEntry[]> {
  const acts = await service.db.rows<object>("SELECT act FROM moderations ORDER BY id");
  const entries = (await entriesOf(service.db)).filter(({ type }) => type !== "act" && type !== "receipt");
  return [...entries.map((entry) => JSON.stringify(entry)), ...acts.map((each, at) => JSON.stringify({ at, ...each }))];
}

it.each(Object.keys(logged))("%s adds its entries, once", async (name) => {
  const { prepare, call, adds } = logged[name] as (typeof logged)[string];
  const prepared = await prepare?.();
  const before = new Set(await said());
  await call(prepared as never);
  const added = (await said()).filter((each) => !before.has(each)).map((each) => JSON.parse(each));
  expect(added).toEqual(adds.map((each) => expect.objectContaining(each)));
  expect(await faultsOfLog(service.db, { isImported: false })).toEqual([]);
});

it("no entry shows a text, a name, or who wrote it", async () => {
  const entries = (await entriesOf(service.db)).slice(1);
  expect(entries.length).toBeGreaterThan(20);
  const members = new Set(entries.flatMap((entry) => Object.keys(entry)));
  const known = ["content", "hash", "id", "imported", "item", "item_id", "of", "parent", "post", "reason", "role"];
  for (const member of ["seq", "ts", "type", "v", ...known]) members.delete(member);
  expect([...members]).toEqual([]);
  expect(JSON.stringify(entries)).not.toMatch(/secret|zeno|chrysippus|porch|achilles|tortoise/i);
});

it("a write whose entry cannot be added does not happen", async () => {
  const before = await entriesOf(service.db);
  await service.db.rows("CREATE TRIGGER fails BEFORE INSERT ON log_outbox FOR EACH ROW SIGNAL SQLSTATE '45000'");
  const { status } = await service.rest("posts", { key: author.key, body: { title: "Unsaid" } });
  await service.db.rows("DROP TRIGGER fails");
  expect(status).toBe(500);
  expect(await service.db.rows("SELECT id FROM posts WHERE title = 'Unsaid'")).toEqual([]);
  expect(await entriesOf(service.db)).toEqual(before);
});
