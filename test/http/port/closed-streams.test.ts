// Minor collections must free what belongs to a stream that has closed. What they keep, they copy, which takes time, and it
// stays until the next major collection.
import { spawn } from "node:child_process";
import { once } from "node:events";
import http2 from "node:http2";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const calls = 1000;
/** In bytes. Node itself keeps about 2,400 of each stream: it has functions and tables in the old generation, too. */
const maxKept = 3500;

it("minor collections free nearly all of a stream that has closed", async () => {
  const server = spawn(process.execPath, ["--expose-gc", join(import.meta.dirname, "closed-streams-server.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void server.kill());
  const [url] = await once(server.stdout, "data");
  const session = http2.connect(String(url).trim());
  onTestFinished(() => session.destroy());
  const call = async (path: string) => {
    const stream = session.request({ ":path": path, ":method": "POST" }).end("a body");
    let text = "";
    for await (const chunk of stream.setEncoding("utf8")) text += chunk;
    return Number(text);
  };
  const callMany = async () => {
    for (let i = 0; i < calls; i++) await call("/");
  };
  await callMany(); // compiles, and ages the tables of the session
  const before = await call("/begin");
  await callMany();
  const after = await call("/end");
  expect((after - before) / calls).toBeLessThan(maxKept);
});
