// The official checks of the protocol, as far as they apply: the others call tools and prompts that only a server of examples has.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { nodeEnvironment } from "../support/node-environment.ts";
import { startService } from "../support/service.ts";

const program = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const service = await startService();

// Those of other lists ask for less than the clients of http.test.ts do.
it("the scenarios that apply pass", async () => {
  // Each takes a process, which starts for most of a second.
  await Promise.all(
    Object.entries({ "tools-list": 1, "dns-rebinding-protection": 2 }).map(async ([scenario, checks]) => {
      const args = [program, "server", "--url", `${service.url}/mcp`, "--scenario", scenario];
      // It fails with the program's output if the program does.
      const { stdout } = await promisify(execFile)(process.execPath, args, { env: nodeEnvironment });
      expect(stdout, scenario).toContain(`Passed: ${checks}/${checks}, 0 failed, 0 warnings`);
    }),
  );
});
