import { execFile, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operatorToken, startLedger } from "./ledger/support.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "stoa-package-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const source = join(scratch, "source");
const project = join(scratch, "project");

const run = promisify(execFile);
const environment = {
  ...process.env,
  PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
  XDG_STATE_HOME: join(scratch, "state"),
  npm_config_update_notifier: "false",
};

/** Runs a program in the project that has installed the package. */
async function inProject(command: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(command, args, { cwd: project, env: environment });
  return stdout;
}

/** A copy of all files that are or would be committed, because packing writes beside the sources. */
async function copySources(): Promise<void> {
  const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], { cwd: root });
  for (const file of stdout.split("\0").filter((name) => name !== "" && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(source, file)), { recursive: true });
    cpSync(join(root, file), join(source, file));
  }
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
}

beforeAll(async () => {
  await copySources();
  const before = filesOf(source);
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", scratch], {
    cwd: source,
    env: environment,
  });
  // npm prints the lines of the scripts first.
  const [packed] = Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]/m)))) as [{ filename: string }];
  expect(filesOf(source)).toEqual(before);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  const compilerOptions = { strict: true, module: "nodenext", target: "esnext", noEmit: true, types: [] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  await inProject("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", join(scratch, packed.filename));
});

/** The hash of every file outside node_modules, which other tests write to. */
function filesOf(folder: string): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) Object.assign(hashes, filesOf(path));
    else if (entry.isFile()) hashes[path] = hash("sha256", readFileSync(path));
  }
  return hashes;
}

/** The oldest Node.js on the PATH that is version 20 or newer. */
function oldestNode(): string {
  const found = (environment.PATH ?? "").split(delimiter).flatMap((folder) => {
    const { stdout } = spawnSync(join(folder, "node"), ["--version"], { encoding: "utf8" });
    const major = Number(/^v(\d+)\./.exec(stdout ?? "")?.[1]);
    return major >= 20 ? [{ path: join(folder, "node"), major }] : [];
  });
  const [oldest] = found.sort((a, b) => a.major - b.major);
  if (oldest === undefined) throw new Error("There is no Node.js on the PATH.");
  return oldest.path;
}

describe("the package", () => {
  it("has the few dependencies of the client, but no server and no runtime", () => {
    const installed = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed.sort()).toEqual(["@bufbuild", "@connectrpc", "stoa"]);
    expect(readdirSync(join(project, "node_modules/@connectrpc")).sort()).toEqual(["connect", "connect-web"]);
    const files = readdirSync(join(project, "node_modules/stoa"), { recursive: true, encoding: "utf8" });
    const typescript = files.filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"));
    expect(typescript).toEqual([]);
    expect(files.filter((name) => /store|board|http\/|sql/.test(name))).toEqual([]);
  });

  it("runs the program of docs/api.md, which type-checks strictly and needs only Node.js", async () => {
    const service = await startLedger();
    await service.seal();
    const page = readFileSync(join(root, "docs/api.md"), "utf8");
    const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
    expect(program.trim().split("\n").length).toBeLessThanOrEqual(7);
    writeFileSync(join(project, "five-lines.ts"), program.replaceAll("http://127.0.0.1:8080", service.url));
    await inProject("tsc", "-p", ".");
    const output = await inProject("node", "five-lines.ts");
    expect(output).toMatch(
      /^A hymn http:\/\/127\.0\.0\.1:\d+\/posts\/1\nreceipt 1 [0-9a-f]{64}\nreceipt 2 [0-9a-f]{64}\n$/,
    );
  });

  it("names the Node.js that it needs, and runs on the oldest one that is installed", async () => {
    const manifest = JSON.parse(readFileSync(join(project, "node_modules/stoa/package.json"), "utf8"));
    expect(manifest.engines).toEqual({ node: ">=20" });
    expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).engines).not.toEqual(manifest.engines);
    const service = await startLedger();
    const { key } = await service.register();
    const program = `
      import { createOperatorClient, createStoaClient } from "stoa";
      const url = ${JSON.stringify(service.url)};
      const stoa = createStoaClient(url, { apiKey: ${JSON.stringify(key)} });
      await stoa.posts.createPost({ title: "From an old Node.js" });
      for await (const { title } of stoa.feed()) console.log(title);
      const operator = createOperatorClient(url, { operatorToken: ${JSON.stringify(operatorToken)} });
      await operator.sealSession({ book: "books", session: "2020-01-02", source: "a test" });
      for await (const { link } of stoa.receipts()) console.log(link.seq);
    `;
    writeFileSync(join(project, "old.mjs"), program);
    const node = oldestNode();
    expect(await inProject(node, "old.mjs")).toBe("From an old Node.js\n1\n2\n");
    expect(await inProject(node, "node_modules/stoa/lib/cli/main.js", "verify", service.url)).toContain(
      "verified receipts 1 to 2",
    );
  });

  it("seals as an operator, typed", async () => {
    const service = await startLedger();
    const program = `
      import { createOperatorClient, type OperatorClient, StoaError } from "stoa";
      const url = ${JSON.stringify(service.url)};
      const operator: OperatorClient = createOperatorClient(url, { operatorToken: ${JSON.stringify(operatorToken)} });
      const session = { book: "books", session: "2020-01-02", source: "a test", evidence: { rows: 3 } };
      console.log((await operator.sealSession(session)).receipt?.seq);
      const refused = (error: unknown) => console.log(error instanceof StoaError && error.code);
      await operator.sealSession(session).catch(refused);
      await createOperatorClient(url, { operatorToken: "another" }).sealSession(session).catch(refused);
    `;
    writeFileSync(join(project, "operator.ts"), program);
    await inProject("tsc", "-p", ".");
    expect(await inProject("node", "operator.ts")).toBe("2n\nexists\nunauthorized\n");
  });

  it("moderates, typed and on the command line", async () => {
    const service = await startLedger();
    const { name, key } = await service.register();
    const program = `
      import { createOperatorClient, createStoaClient, ModerationReason, ModerationRole } from "stoa";
      const url = ${JSON.stringify(service.url)};
      const stoa = createStoaClient(url, { apiKey: ${JSON.stringify(key)} });
      const { post } = await stoa.posts.createPost({ title: "Buy a porch" });
      const { moderation } = createOperatorClient(url, { operatorToken: ${JSON.stringify(operatorToken)} });
      await moderation.remove({ postId: post?.id, reason: ModerationReason.SPAM });
      for await (const { id, role, itemId } of stoa.everyModeration({ act: "remove" })) {
        console.log(id, role === ModerationRole.OPERATOR, itemId === post?.id);
      }
    `;
    writeFileSync(join(project, "moderate.ts"), program);
    await inProject("tsc", "-p", ".");
    expect(await inProject("node", "moderate.ts")).toBe("1n true true\n");
    const command = ["node_modules/stoa/lib/cli/main.js", "moderate", service.url, "suspend", name];
    const env = { ...environment, STOA_OPERATOR_TOKEN: operatorToken };
    const { stdout } = await run(oldestNode(), [...command, "--reason", "spam", "--yes"], { cwd: project, env });
    expect(stdout).toContain(`suspended ${name}`);
  });

  it("pages, follows and verifies", async () => {
    const service = await startLedger();
    const { key } = await service.register();
    const program = `
      import { createStoaClient, StoaError, type Post } from "stoa";
      const stoa = createStoaClient(${JSON.stringify(service.url)}, { apiKey: ${JSON.stringify(key)} });
      for (let n = 0; n < 60; n++) await stoa.posts.createPost({ title: \`Post \${n}\` });
      const posts: Post[] = [];
      for await (const post of stoa.feed({ sort: "new" })) posts.push(post);
      console.log(posts.length, posts[0]?.title, posts[59]?.title);
      try {
        await stoa.posts.createPost({ title: "x" });
      } catch (error) {
        if (error instanceof StoaError) console.log(error.code, error.field);
      }
      console.log("following");
      for await (const { link, document } of stoa.followReceipts({ from: 2 })) {
        console.log(link.seq, link.hash, document.body.type);
        break;
      }
    `;
    writeFileSync(join(project, "follow.ts"), program);
    await inProject("tsc", "-p", ".");
    const running = run("node", ["follow.ts"], { cwd: project, env: environment });
    await new Promise<void>((resolve) => {
      running.child.stdout?.on("data", (text) => String(text).includes("following") && resolve());
    });
    const { hash } = await service.seal();
    const { stdout } = await running;
    expect(stdout).toBe(`60 Post 59 Post 0\nbad_input title\nfollowing\n2 ${hash} session\n`);
    expect(await inProject("npx", "--no-install", "stoa", "verify", service.url)).toMatch(
      new RegExp(`^verified receipts 1 to 2 of ${service.url}: head ${hash}\n$`),
    );
  });
});
