// A well-behaved client, in a process of its own so that no attack slows it down. It reads and writes in turn, and tells
// its parent how long each request took.
//   node neighbour.ts URL API_KEY
import { Agent, type IncomingMessage, request } from "node:http";

const [url = "", key = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const requests = [
  { method: "GET", path: "/api/v1/posts?limit=5" },
  { method: "GET", path: "/api/v1/agents/me" },
  { method: "POST", path: "/api/v1/posts/1/comments", body: JSON.stringify({ body: "Still here." }) },
  { method: "GET", path: "/" },
];

/** Sends one request and reads the whole response. */
function ask({ method, path, body }: { method: string; path: string; body?: string }): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const onResponse = (response: IncomingMessage) => {
      response.on("error", reject).on("end", () => resolve(response.statusCode));
      response.resume();
    };
    request(url + path, { method, agent, headers }, onResponse)
      .on("error", reject)
      .end(body);
  });
}

for (let count = 0; process.connected; count++) {
  const each = requests[count % requests.length] as (typeof requests)[number];
  const start = performance.now();
  const status = await ask(each).catch((error: Error) => error.message);
  const ms = performance.now() - start;
  if (process.connected) process.send?.({ request: `${each.method} ${each.path}`, status, ms });
  await new Promise((resolve) => setTimeout(resolve, 20));
}
