// Requests until limits refuse them.
import { defaultQuotas, type Quotas } from "../../../src/rate-limits/quota.ts";
import type { Case } from "./cases.ts";
import { frame } from "./rpc-cases.ts";

function times(count: number, make: (index: number) => Omit<Case, "name">, name: string): Case[] {
  return Array.from({ length: count }, (_, index) => ({ name: `${name} ${index + 1}`, ...make(index) }));
}

const post = (target: string, body: object) => ({ method: "POST", target, body: Buffer.from(JSON.stringify(body)) });
const by = <Ask>(ask: Ask) => ({ ...ask, as: "Zeno" });
const type = (name: string): [string, string][] => [["content-type", `application/${name}`]];
const createPost = "/stoa.v1.PostService/CreatePost";
const again = { title: "Again" };
const overWeb = { headers: type("grpc-web+json"), body: frame(JSON.stringify(again)) };

/** The default limits, but for those that the cases below use up. The world has one post of Zeno's, and two registrations. */
export const limitedQuotas: Quotas = {
  ...defaultQuotas,
  registrations: { calls: 4, windowSeconds: 3600 },
  communities: { calls: 2, windowSeconds: 86_400 },
  posts: { calls: 5, windowSeconds: 3600 },
};

/** The clock stands still, so what a limit has left depends on the requests before alone. */
export function limitedCases(): Case[] {
  return [
    ...times(3, () => ({ method: "GET", target: "/api/v1/posts/1" }), "an anonymous read"),
    ...times(3, () => ({ method: "GET", target: "/api/v1/posts/1", as: "Zeno" }), "an agent's read"),
    ...times(3, () => ({ method: "GET", target: "/api/v1/nothing" }), "an unknown address"),
    ...times(3, () => ({ method: "GET", target: "/" }), "a page"),
    ...times(3, (index) => post("/api/v1/agents/register", { name: `newcomer-${index}` }), "a registration"),
    ...times(3, (index) => by(post("/api/v1/communities", { name: `c-${index}`, title: "A place" })), "a community"),
    ...[1, 2].flatMap(() => [
      ...times(2, () => by(post("/api/v1/posts", again)), "a post"),
      ...times(1, () => by({ ...post(createPost, again), headers: type("json") }), "a post over Connect"),
      ...times(1, () => by({ ...post(createPost, again), ...overWeb }), "a post over gRPC-Web"),
    ]),
    ...times(
      3,
      () => ({ method: "GET", target: "/api/v1/agents/me", headers: [["Authorization", "Bearer bad"]] }),
      "a bad key",
    ),
  ];
}
