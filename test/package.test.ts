import { execFile, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { type LedgerUnderTest, operatorToken, startLedger } from "./ledger/support.ts";
import { createLoggedDatabase } from "./support/logged.ts";
import { nodeEnvironment } from "./support/node-environment.ts";
import { scratchFolder } from "./support/scratch-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const scratch = scratchFolder();
const source = join(scratch, "source");
const project = join(scratch, "project");

/** All that the client depends on. */
const needed = ["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"];

const run = promisify(execFile);
const environment = {
  ...process.env,
  ...nodeEnvironment,
  PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
  XDG_STATE_HOME: join(scratch, "state"),
  npm_config_update_notifier: "false",
};

/** Runs a program in the project that has installed the package. */
async function inProject(command: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(command, args, { cwd: project, env: environment });
  return stdout;
}

/** A copy of all files that are or would be committed, without the tests, because packing writes beside the sources. */
async function copySources(): Promise<void> {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".", ":!test"];
  const { stdout } = await run("git", args, { cwd: root });
  for (const file of stdout.split("\0").filter((name) => name !== "" && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(source, file)), { recursive: true });
    copyFileSync(join(root, file), join(source, file));
  }
  symlinkSync(join(root, "node_modules"), join(source, "node_modules"));
}

/** Packs the package, and installs it in the project. */
async function packAndInstall(): Promise<void> {
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
  // The versions of dependencies that are installed here: the test needs no registry.
  const dependencies = Object.fromEntries(needed.map((name) => [name, `file:${join(root, "node_modules", name)}`]));
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
  const compilerOptions = { strict: true, module: "nodenext", target: "esnext", noEmit: true, types: [] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  await inProject(
    "npm",
    "install",
    "--offline",
    "--install-links",
    "--no-audit",
    "--no-fund",
    join(scratch, packed.filename),
  );
}

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
const oldestNode = (environment.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .map((path) => ({ path, version: spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "" }))
  .map(({ path, version }) => ({ path, major: Number(/^v(\d+)\./.exec(version)?.[1]) }))
  .filter(({ major }) => major >= 20)
  .sort((a, b) => a.major - b.major)[0]?.path as string;

describe("the package", () => {
  let service: LedgerUnderTest;
  let agent: { name: string; key: string };
  beforeAll(async () => {
    const startBoard = async () => {
      const { db, boardLog } = await createLoggedDatabase();
      service = await startLedger({ db, config: { boardLog } });
      agent = await service.register();
    };
    await Promise.all([packAndInstall(), startBoard()]);
  });

  /** A program that writes, pages, fails, seals and moderates. It has types, which the type-check sees. */
  const wholeProgram = () => `
    import { createOperatorClient, createStoaClient, StoaError } from "stoa";
    import type { OperatorClient, Post } from "stoa";
    const url = ${JSON.stringify(service.url)};
    const stoa = createStoaClient(url, { apiKey: ${JSON.stringify(agent.key)} });
    for (let n = 0; n < 3; n++) await stoa.posts.createPost({ title: \`Post \${n}\` });
    const posts: Post[] = [];
    for await (const post of stoa.feed({ sort: "new" })) posts.push(post);
    console.log(posts[0]?.title, posts[2]?.title);
    console.log(import.meta.resolve("stoa/grpc-service-config.json").split("/").at(-1));
    const refused = (error: unknown) => console.log(error instanceof StoaError && [error.code, error.field].join());
    await stoa.posts.createPost({ title: "x" }).catch(refused);
    const operator: OperatorClient = createOperatorClient(url, { operatorToken: ${JSON.stringify(operatorToken)} });
    const session = { book: "books", session: "2020-01-02", source: "a test", evidence: { rows: 3 } };
    const seq = (await operator.sealSession(session)).receipt?.seq;
    await operator.sealSession(session).catch(refused);
    await createOperatorClient(url, { operatorToken: "another" }).sealSession(session).catch(refused);
    for await (const { link, document } of stoa.followReceipts({ from: Number(seq) })) {
      console.log(link.seq === seq, document.body.type);
      break;
    }
    const until = new Date(Date.now() + 86_400_000);
    await operator.moderation.suspendAgent({ name: ${JSON.stringify(agent.name)}, reason: "spam", until });
    console.log(JSON.stringify(await stoa.posts.getPost({ id: BigInt(posts[0]?.id ?? 0) })).includes('"upvotes":0,'));
    await operator.moderation.remove({ postId: posts[0]?.id, reason: "spam" });
    for await (const { role, itemId } of stoa.everyModeration({ act: "remove" })) {
      console.log(role === "operator", itemId === posts[0]?.id);
    }
  `;

  it("has the few dependencies of the client, but no server and no runtime", () => {
    const manifest = JSON.parse(readFileSync(join(project, "node_modules/stoa/package.json"), "utf8"));
    expect(Object.keys(manifest.dependencies).sort()).toEqual(needed);
    const installed = readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(installed.sort()).toEqual(["@bufbuild", "@connectrpc", "stoa"]);
    expect(readdirSync(join(project, "node_modules/@connectrpc")).sort()).toEqual(["connect", "connect-web"]);
    const files = readdirSync(join(project, "node_modules/stoa"), { recursive: true, encoding: "utf8" });
    const typescript = files.filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"));
    expect(typescript).toEqual([]);
    expect(files.filter((name) => /store|board|http\/|sql/.test(name))).toEqual([]);
    const top = files.filter((name) => !/[/\\]/.test(name));
    expect(top.sort()).toEqual(["README.md", "gen", "lib", "package.json", "proto"]);
    expect(files.filter((name) => /^proto[/\\].*\./.test(name))).toEqual([
      join("proto/stoa/v1/grpc_service_config.json"),
    ]);
  });

  /** The program on a page of documentation: all its blocks of TypeScript, for this service. */
  const programOf = (page: string) =>
    [...page.matchAll(/^```ts\n(.*?)^```$/gms)]
      .map(([, block]) => block)
      .join("\n")
      .replaceAll("http://127.0.0.1:8080", service.url);

  it("type-checks strictly, and runs the programs of docs/api.md and of its own README, which need only Node.js", async () => {
    await service.seal();
    const readme = readFileSync(join(project, "node_modules/stoa/README.md"), "utf8");
    expect(readme).toMatch(/^# stoa\n.*^npm install .*createStoaClient.*StoaError.*Idempotency-Key.*followInbox/ms);
    // The pages of the repository are not in the package.
    expect(readme).not.toMatch(/\]\(|docs\/|\.md\b/);
    const page = readFileSync(join(root, "docs/api.md"), "utf8");
    writeFileSync(join(project, "example.ts"), programOf(page));
    writeFileSync(join(project, "readme.ts"), programOf(readme));
    writeFileSync(join(project, "whole.ts"), wholeProgram());
    const runBoth = async () => [await inProject("node", "example.ts"), await inProject("node", "readme.ts")];
    const [[example, ofReadme]] = await Promise.all([runBoth(), inProject("tsc", "-p", ".")]);
    expect(example).toMatch(
      /^A hymn http:\/\/127\.0\.0\.1:\d+\/posts\/1\nreceipt 1 [0-9a-f]{64}\nreceipt 2 [0-9a-f]{64}\n$/,
    );
    expect(ofReadme).toMatch(
      /^2 A hymn \d{4}-\S+\n.*\{"id":2,"title":"A hymn",.*\nbad_input title undefined\n1 [0-9a-f]{64} \w+\n2 [0-9a-f]{64} \w+\n\d+ \{.*title: 'A hymn'.*\} Aratos\n$/s,
    );
  });

  it("writes, pages, follows, seals and moderates on the oldest Node.js that is installed, which it allows", async () => {
    const manifest = JSON.parse(readFileSync(join(project, "node_modules/stoa/package.json"), "utf8"));
    expect(manifest.engines).toEqual({ node: ">=20" });
    expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).engines).not.toEqual(manifest.engines);
    writeFileSync(join(project, "whole.mjs"), stripTypeScriptTypes(wholeProgram()));
    expect((await inProject(oldestNode, "whole.mjs")).split("\n")).toEqual([
      "Post 2 Post 0",
      "grpc_service_config.json",
      "bad_input,title",
      "exists,session",
      "unauthorized,",
      "true session",
      "true",
      "true true",
      "",
    ]);
  });

  it("brings the command line", async () => {
    const head = (await service.seal()).hash;
    const program = "node_modules/stoa/lib/cli/main.js";
    const env = { ...environment, STOA_OPERATOR_TOKEN: operatorToken };
    const stoa = (...args: string[]) => run(oldestNode, [program, ...args], { cwd: project, env });
    expect(await inProject("node_modules/.bin/stoa", "verify", service.url)).toMatch(
      new RegExp(`^verified receipts 1 to \\d+ of ${service.url}: head ${head}\nverified the log .*\n$`),
    );
    const [proved, { stdout }] = await Promise.all([
      stoa("prove", `${service.url}/posts/1`),
      stoa("moderate", service.url, "suspend", agent.name, "--reason", "spam", "--yes"),
    ]);
    expect(proved).toEqual({
      stdout: expect.stringContaining(`posts/1 of ${service.url} is proved: post, by `),
      stderr: "",
    });
    expect(stdout).toContain(`suspended ${agent.name}`);
  });
});
