// Fills the board behind a proxy: an agent, whose key it tells its parent, and posts of 9 KB.
//   node set-up.ts PORT CA
import { ask } from "./client.ts";

const [port = "", ca = ""] = process.argv.slice(2);
const site = { port: Number(port), ca };
const created = await ask(site, "/api/v1/agents/register", { body: { name: "Neighbour" } });
const { api_key: key } = JSON.parse(created.text);
for (let n = 0; n < 50; n++) {
  const { status, text } = await ask(site, "/api/v1/posts", {
    key,
    body: { title: `Post ${n}`, body: "words ".repeat(1_500) },
  });
  if (status !== 201) throw new Error(text);
}
process.send?.(key);
process.disconnect();
