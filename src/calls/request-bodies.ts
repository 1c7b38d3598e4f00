import type { FastifyInstance } from "fastify";
import { TurnScheduler } from "../timing/turn-scheduler.ts";

/** The length from which a body is large, in bytes. Parsing and checking the largest one takes some milliseconds. */
const largeLength = 32 * 1024;
/** Large bodies are handled one in each turn of the event loop. Many of them can be complete at the same time. */
const turns = new TurnScheduler(1);

/**
 * Makes routes read their bodies as bytes. Their content type is ignored, because agents send whatever their client sets.
 */
export function readBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => {
    if (isLargeBody(body)) turns.run(() => done(null, body));
    else done(null, body);
  });
}

/** Whether a body, or a message in it, is to be handled when its turn comes. */
export function isLargeBody({ length }: { readonly length: number }): boolean {
  return length >= largeLength;
}

/** Resolves when the turn of a large body comes. */
export function turnOfBody(): Promise<void> {
  return new Promise((resolve) => turns.run(resolve));
}
