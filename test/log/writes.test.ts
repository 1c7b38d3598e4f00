// What each RPC that writes adds to the log: one row of the outbox, an act of the record, or nothing, for a reason.
import type { DescMethod } from "@bufbuild/protobuf";
import { beforeAll, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { ModerationRecordService } from "../../gen/stoa/v1/moderation_record_service_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import { rulesOf } from "../../src/contract/rules.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { type AnyEntry, beginTestLog, entriesOf, faultsOfLog } from "../support/log.ts";
import { type Agent, type Moderated, startModerated } from "../support/moderation.ts";

const allServices = [
  AgentService, CommentService, CommunityService, InboxService, LedgerOperatorService, LedgerService, ModerationService,
  ModerationRecordService, PostService, SearchService,
]; // biome-ignore format: one list

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

/** RPCs that add an act to the record of moderation, from which the sequencer takes it (sequencer.test.ts). */
const recorded = [
  "PostService.RestorePost", "CommentService.RestoreComment", "PostService.LockPost", "PostService.UnlockPost",
  "CommunityService.AppointModerator", "CommunityService.DismissModerator", "ModerationService.Remove",
  "ModerationService.RemoveAgentContent", "ModerationService.Restore", "ModerationService.Lock", "ModerationService.Unlock",
  "ModerationService.SuspendAgent", "ModerationService.UnsuspendAgent", "ModerationService.RevokeKeys",
  "ModerationService.EraseAgent", "ModerationService.ResolveReport",
]; // biome-ignore format: one list

let service: Moderated;
let author: Agent;
let other: Agent;
let names = 0;

beforeAll(async () => {
  const db = await createDatabaseWithSchema();
  await beginTestLog(db);
  service = await startModerated({ db });
  author = await service.register("Zeno");
  other = await service.register("Chrysippus");
  await service.found(author, "porch");
});

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

const writes = allServices.flatMap((each) =>
  Object.values(each.method as Record<string, DescMethod>)
    .filter((rpc) => rulesOf(rpc).isWrite)
    .map((rpc) => `${each.name}.${rpc.name}`),
);

it("every RPC that writes is logged, or has a reason not to be", () => {
  const known = [...Object.keys(logged), ...recorded, ...Object.keys(notLogged)];
  expect(writes.toSorted()).toEqual(known.toSorted());
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
