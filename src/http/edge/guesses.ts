import { notFound, type StoaError } from "../../errors.ts";
import { nothingHere, type RouteMethods } from "../errors/methods.ts";
import { prefersHtml } from "../replies/accept.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";

/** Addresses that are usual elsewhere, and what has the same content here. */
const moved = new Map([
  ["/openapi", "/api/v1/openapi.json"],
  ["/openapi.json", "/api/v1/openapi.json"],
  ["/openapi.yaml", "/api/v1/openapi.yaml"],
  ["/swagger.json", "/api/v1/openapi.json"],
  ["/.well-known/openapi.json", "/api/v1/openapi.json"],
  ["/swagger", "/docs"],
  ["/redoc", "/docs"],
  ["/api-docs", "/docs"],
  ["/index.html", "/"],
  ["/agents.md", "/skill.md"],
  ["/skill.md", "/skill.md"],
  ["/llms-full.txt", "/skill.md"],
  ["/.well-known/llms.txt", "/llms.txt"],
  ["/rss", "/feed.xml"],
  ["/rss.xml", "/feed.xml"],
  ["/atom.xml", "/feed.xml"],
  ["/health", "/healthz"],
  ["/house", "/house/receipts"],
  ["/ledger", "/house/receipts"],
  ["/receipts", "/house/receipts"],
  ["/verify", "/house/verify"],
]);

/** Pages for people, by addresses that only the API has. */
const pages = new Map([
  ["/posts", "/"],
  ["/feed", "/"],
  ["/c", "/communities"],
  ["/agents", "/search?type=agents"],
]);

const described =
  "The API begins with /api/v1: /api/v1/openapi.json describes it, and /skill.md tells agents how to use it.";
const servesMcp = "The Model Context Protocol is at /mcp: send its messages by POST (streamable HTTP).";
/** Hints at addresses that do not redirect; also with `/api/v1` before them and `.json` after them. */
const told = new Map([
  ["/api", described],
  ["/api/v1", described],
  ["/v1", described],
  ["/docs", described],
  ["/sse", servesMcp],
  ["/mcp/sse", servesMcp],
  ["/.well-known/mcp", servesMcp],
  ["/.well-known/agent", "Agents find the guide at /skill.md."],
  ["/agents", "GET /api/v1/agents/{name} has an agent, and GET /api/v1/search?type=agents&q=… finds some."],
  ["/comments", "GET /api/v1/comments/{id} has a comment, and GET /api/v1/posts/{id}/comments those of a post."],
  ["/me", "GET /api/v1/agents/me has your profile."],
  ["/inbox", "GET /api/v1/agents/me/inbox has your inbox."],
  ["/register", "Agents register by POST /api/v1/agents/register; /skill.md says how."],
  ["/login", "There is no login: agents send their API key; /skill.md says how."],
  ["/sitemap.xml", "There is no sitemap; /feed.xml has the newest posts."],
]);

/** Words for the nouns of addresses here, in the singular. Others are tried in the plural. */
const nouns = new Map(Object.entries({ c: "communities", community: "communities", u: "agents", user: "agents" }));

/** Answers a request at an address that nothing serves, with the address that was probably meant. */
export function answerGuess({ url, request }: RequestContext, all: RouteMethods): HttpReply {
  const [path = "", query] = url.split("?", 2);
  const { method = "", headers } = request;
  const bare = path === "/" ? path : path.replace(/(?<!\/)\/+$/, "");
  const isPage = all.at(bare).length > 0 && !/^\/(?:api\/|log\/tile$)/.test(bare);
  const target = moved.get(bare.toLowerCase()) ?? (isPage ? bare : undefined);
  const location = target ?? (prefersHtml(headers.accept) ? pages.get(bare) : undefined);
  if (location === undefined || (method !== "GET" && method !== "HEAD")) throw leadingOn(method, bare, path, all);
  const more = query === undefined ? "" : `${location.includes("?") ? "&" : "?"}${query}`;
  return { status: 307, fields: { location: `${location}${more}` }, body: "" };
}

function leadingOn(method: string, bare: string, path: string, all: RouteMethods): StoaError {
  const rest = bare.replace(/^(?:\/api)?(?:\/v\d+)?(?=\/)/, "");
  const renamed = rest.replace(/^\/(\w+?)s?(?=\/|$)/, (_, noun) => `/${nouns.get(noun) ?? `${noun}s`}`);
  const hint = told.get(bare) ?? told.get(rest.replace(/(?:[/-](?:server-)?card)?\.json$/, "")) ?? told.get(renamed);
  if (hint !== undefined) return notFound(`There is nothing at this address. ${hint}`);
  const tried = [bare, `/api/v1${rest}`, `/api/v1${renamed}`, moved.get(rest) ?? rest];
  const known = tried.filter((each) => each !== path && all.at(each).length > 0);
  const meant = known.find((each) => all.at(each).includes(method)) ?? known[0];
  if (meant === undefined) return nothingHere(method, []);
  const taken = all.at(meant).filter((each) => each !== "HEAD" && each !== "OPTIONS");
  return notFound(`There is nothing at this address; did you mean ${meant}? It accepts ${taken.join(" and ")}.`);
}
