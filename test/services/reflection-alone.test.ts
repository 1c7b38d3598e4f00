// Every service is called by a tool that knows nothing but the address: `buf curl` by reflection, without proto files.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { contractServices } from "../../scripts/lib/contract.ts";
import { startLogService } from "../log/support.ts";

const buf = fileURLToPath(new URL("../../node_modules/.bin/buf", import.meta.url));
const operatorToken = "an-example-of-32-characters-or-more";

const service = await startLogService({ config: { operatorToken } });
const { key } = await service.register("Zeno");

async function curl(...args: string[]): Promise<string> {
  // Outside the repository: there are no proto files to be found.
  return (await promisify(execFile)(buf, ["curl", "--http2-prior-knowledge", ...args], { cwd: "/" })).stdout;
}

describe("buf curl, by reflection alone", () => {
  it("lists the services", async () => {
    const tools = [
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ];
    const ours = (await contractServices()).map(({ typeName }) => typeName);
    const listed = (await curl("--list-services", "--protocol", "grpc", service.url)).trim().split("\n");
    expect(listed.sort()).toEqual([...ours, ...tools].sort());
  });

  // An agent's call, one of the operator, and one with JSON of any form. Later ones read what these wrote.
  it.each([
    ["PostService/CreatePost", { title: "By reflection" }, "agent", /"id": "1"/],
    ["ModerationService/Lock", { postId: 1 }, "operator", /"locked": true/],
    [
      "LedgerOperatorService/SealSession",
      { book: "alpha", session: "2026-01-02", source: "feed:alpha", evidence: { fills: [1, 2] } },
      "operator",
      /"seq": "2"/,
    ],
  ])("calls %s", async (rpc, request, secret, shows) => {
    const token = secret === "operator" ? operatorToken : key;
    const how = ["--protocol", "grpc", "-H", `Authorization: Bearer ${token}`];
    expect(await curl(...how, "-d", JSON.stringify(request), `${service.url}/stoa.v1.${rpc}`)).toMatch(shows);
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
  });

  it("reads the detail of a failure", async () => {
    const failed = curl("--protocol", "grpc", "-d", '{"id": 99}', `${service.url}/stoa.v1.PostService/GetPost`);
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining("stoa.v1.ErrorDetail") });
  });
});
