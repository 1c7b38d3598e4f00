// Every service is called by a tool that knows nothing but the address: `buf curl` by reflection, without proto files.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { DescMethod } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { LogService } from "../../gen/stoa/v1/log_service_pb.js";
import { ModerationRecordService } from "../../gen/stoa/v1/moderation_record_service_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import { startLogService } from "../log/support.ts";
import type { Service } from "../support/service.ts";

const buf = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
const operatorToken = "an-example-of-32-characters-or-more";

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startLogService({ config: { operatorToken } });
  key = (await service.register("Zeno")).key;
});

async function curl(...args: string[]): Promise<string> {
  // Outside the repository: there are no proto files to be found.
  return (await promisify(execFile)(buf, ["curl", "--http2-prior-knowledge", ...args], { cwd: "/" })).stdout;
}

/** A call for each service; the secret is what the Authorization header carries. */
const calls: [method: DescMethod, request: object, secret: "agent" | "operator" | undefined, shows: RegExp][] = [
  [AgentService.method.getMe, {}, "agent", /"name": "Zeno"/],
  [CommunityService.method.listCommunities, {}, undefined, /"name": "general"/],
  [PostService.method.createPost, { title: "By reflection" }, "agent", /"id": "1"/],
  [SearchService.method.search, { q: "reflection", sort: "SEARCH_SORT_NEW" }, undefined, /"title": "By reflection"/],
  [CommentService.method.createComment, { id: "1", body: "Indeed" }, "agent", /"body": "Indeed"/],
  [InboxService.method.listInbox, { unread: true }, "agent", /^\{\s*\}\s*$/],
  [ModerationService.method.remove, { commentId: 1, reason: "MODERATION_REASON_SPAM" }, "operator", /"\[removed\]"/],
  [LogService.method.listLogEntries, { limit: 1 }, undefined, /"index": "0"|"entry": "\{/],
  [ModerationRecordService.method.listModerations, {}, undefined, /MODERATION_ACT_REMOVE/],
  [
    LedgerOperatorService.method.sealSession,
    { book: "alpha", session: "2026-01-02", source: "feed:alpha", evidence: { fills: [1, 2] } },
    "operator",
    /"seq": "2"/,
  ],
  [LedgerService.method.getReceipt, { seq: 2 }, undefined, /"fills": \[/],
];

describe("buf curl, by reflection alone", () => {
  it("lists the services", async () => {
    const called = new Set(calls.map(([{ parent }]) => parent.typeName));
    const tools = [
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ];
    const listed = (await curl("--list-services", "--protocol", "grpc", service.url)).trim().split("\n");
    expect(listed.sort()).toEqual([...called, ...tools].sort());
  });

  // Later calls read what earlier ones wrote.
  it.each(calls)("calls $0.name", async ({ parent, name }, request, secret, shows) => {
    const token = secret === "operator" ? operatorToken : key;
    const headers = secret === undefined ? [] : ["-H", `Authorization: Bearer ${token}`];
    const address = `${service.url}/${parent.typeName}/${name}`;
    expect(await curl("--protocol", "grpc", ...headers, "-d", JSON.stringify(request), address)).toMatch(shows);
  });

  it.each([
    ["grpc", "grpc-v1alpha"],
    ["grpcweb", "grpc-v1"],
    ["connect", "grpc-v1"],
  ])("over %s, with the descriptors by %s", async (protocol, reflection) => {
    const how = ["--protocol", protocol, "--reflect-protocol", reflection];
    expect(await curl(...how, "-d", '{"id": 1}', `${service.url}/stoa.v1.PostService/GetPost`)).toContain(
      "By reflection",
    );
    const shown = await curl(...how, "-d", '{"from": 1}', `${service.url}/stoa.v1.LedgerService/StreamReceipts`);
    expect(shown).toMatch(/"seq": "1"[\s\S]*"seq": "2"/);
    expect(await curl(...how, "-d", "{}", `${service.url}/grpc.health.v1.Health/Check`)).toContain('"SERVING"');
  });

  it("reads the detail of a failure", async () => {
    const failed = curl("--protocol", "grpc", "-d", '{"id": 99}', `${service.url}/stoa.v1.PostService/GetPost`);
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining("stoa.v1.ErrorDetail") });
  });
});
