// Requests until the default limits refuse them.
import type { Case } from "./cases.ts";

function times(count: number, make: (index: number) => Omit<Case, "name">, name: string): Case[] {
  return Array.from({ length: count }, (_, index) => ({ name: `${name} ${index + 1}`, ...make(index) }));
}

const body = (value: unknown) => Buffer.from(JSON.stringify(value));

/** The clock stands still, so what a limit has left depends on the requests before alone. */
export function limitedCases(): Case[] {
  return [
    ...times(3, () => ({ method: "GET", target: "/api/v1/posts/1" }), "an anonymous read"),
    ...times(3, () => ({ method: "GET", target: "/api/v1/posts/1", as: "Zeno" }), "an agent's read"),
    ...times(3, () => ({ method: "GET", target: "/api/v1/nothing" }), "an unknown address"),
    ...times(3, () => ({ method: "GET", target: "/" }), "a page"),
    ...times(
      30,
      (index) => ({ method: "POST", target: "/api/v1/agents/register", body: body({ name: `newcomer-${index}` }) }),
      "a registration",
    ),
    ...times(
      30,
      (index) => ({
        method: "POST",
        target: "/api/v1/communities",
        body: body({ name: `c-${index}`, title: "A place" }),
        as: "Zeno",
      }),
      "a community",
    ),
    ...times(
      40,
      () => ({ method: "POST", target: "/api/v1/posts", body: body({ title: "Again" }), as: "Zeno" }),
      "a post",
    ),
    ...times(
      2,
      () => ({
        method: "POST",
        target: "/stoa.v1.PostService/CreatePost",
        headers: [["content-type", "application/json"]],
        body: body({ title: "Again" }),
        as: "Zeno",
      }),
      "a post over Connect",
    ),
    ...times(
      2,
      () => ({
        method: "POST",
        target: "/stoa.v1.PostService/CreatePost",
        headers: [["content-type", "application/grpc-web+json"]],
        body: Buffer.concat([Buffer.from([0, 0, 0, 0, 17]), body({ title: "Again" })]),
        as: "Zeno",
      }),
      "a post over gRPC-Web",
    ),
    ...times(
      3,
      () => ({ method: "GET", target: "/api/v1/agents/me", headers: [["Authorization", "Bearer bad"]] }),
      "a bad key",
    ),
  ];
}
