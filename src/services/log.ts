import { hash } from "node:crypto";
import { create, type DescMethod } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetCheckpointResponseSchema,
  GetPolicyResponseSchema,
  type GetProofRequest,
  GetProofResponseSchema,
  GetTileResponseSchema,
  ListLogEntriesRequestSchema,
  ListLogEntriesResponseSchema,
  type LogItem,
  LogItemSchema,
  LogService,
  ProofOf,
} from "../../gen/stoa/v1/log_service_pb.js";
import { media_type } from "../../gen/stoa/v1/options_pb.js";
import { findNamed } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { getCommunityId } from "../board/communities.ts";
import { integerDefault } from "../contract/defaults.ts";
import { getOption } from "../contract/options.ts";
import { badInput, notFound } from "../errors.ts";
import type { BoardLog, OpenLog } from "../log/board-log.ts";
import type { Waiter } from "../log/publisher/published-tree.ts";
import { formatPolicy } from "../tlog/notes/policy.ts";
import { wordsOf } from "./enum-words.ts";
import { LogWaits } from "./log-waits.ts";

/** The log of the board, while there is one. */
export type LogAccess = Pick<BoardLog, "current">;

const mayStay = "public, max-age=31536000, immutable";

/** The names of items in the log. */
const items = wordsOf<LogItem, string>(LogItemSchema);

/** @param siteUrl the public root address, without a slash at its end */
export function createLogService(boardLog: LogAccess, board: Board, siteUrl: string): ServiceImpl<typeof LogService> {
  const { method } = LogService;
  const firstOfPage = integerDefault(ListLogEntriesRequestSchema.field.from);
  const pageSize = integerDefault(ListLogEntriesRequestSchema.field.limit);
  // Looking an option up takes longer than everything else about a tile.
  const bodyOf = (rpc: DescMethod) => {
    const contentType = getOption(rpc, media_type);
    return (data: Uint8Array) => ({ contentType, data });
  };
  const bodies = {
    checkpoint: bodyOf(method.getCheckpoint),
    tile: bodyOf(method.getTile),
    policy: bodyOf(method.getPolicy),
    proof: bodyOf(method.getProof),
  };
  const waits = new LogWaits();
  const open = (): OpenLog => {
    const { current } = boardLog;
    if (current === undefined) throw notFound("This board has no log.");
    return current;
  };
  return {
    async getCheckpoint() {
      const { note } = open().tiles.tree;
      return create(GetCheckpointResponseSchema, { checkpoint: bodies.checkpoint(note) });
    },

    async getTile({ path }, context) {
      const { bytes, isBundle } = await open().tiles.read(path, waits.waiterOf(context));
      context.responseHeader.set("cache-control", mayStay);
      // A log that begins anew has other tiles at these addresses. The tag is weak, because all content encodings share it.
      context.responseHeader.set("etag", `W/"${hash("sha1", bytes, "base64url")}"`);
      // Hashes do not become shorter when they are compressed.
      if (isBundle) context.responseHeader.set("vary", "accept-encoding");
      return create(GetTileResponseSchema, { tile: bodies.tile(bytes) });
    },

    async getPolicy() {
      const policy = formatPolicy({ logs: [{ key: open().key, url: `${siteUrl}/log` }] });
      return create(GetPolicyResponseSchema, { policy: bodies.policy(Buffer.from(policy)) });
    },

    async getProof(request, context) {
      const proof = await prove(open(), board, request, waits.waiterOf(context));
      return create(GetProofResponseSchema, { proof: bodies.proof(proof) });
    },

    async listLogEntries({ item, itemId, from = firstOfPage, limit = pageSize }, { signal }) {
      if (item !== undefined && itemId === undefined) throw badInput("item_id", "`item` needs `item_id`.");
      if (itemId !== undefined && item === undefined) throw badInput("item", "`item_id` needs `item`.");
      const of = item === undefined ? undefined : { item: items.word(item), id: Number(itemId) };
      const page = await open().tiles.list(board.read(signal), Number(from), Number(limit), of);
      return create(ListLogEntriesResponseSchema, {
        size: BigInt(page.size),
        entries: page.entries.map(({ index, entry, leafHash }) => ({ index: BigInt(index), entry, leafHash })),
        ...(page.nextFrom === undefined ? {} : { nextFrom: BigInt(page.nextFrom) }),
      });
    },
  };
}

/** @throws StoaError `not_found`, `bad_input`, `rate_limited`, `unavailable` */
async function prove(
  { proofs, tiles }: OpenLog,
  board: Board,
  { item, of }: GetProofRequest,
  waiter: Waiter,
): Promise<Uint8Array> {
  const db = board.read(waiter.signal);
  const isOfRemoval = of === ProofOf.REMOVAL;
  const find = isOfRemoval ? proofs.ofRemoval.bind(proofs) : proofs.ofText.bind(proofs);
  switch (item.case) {
    case "postId":
      return find("post", Number(item.value), waiter);
    case "commentId":
      return find("comment", Number(item.value), waiter);
    case "agent":
      return find("agent", (await tiles.unlessLost(db, findNamed(db, item.value))).id, waiter);
    case "community":
      return find("community", await tiles.unlessLost(db, getCommunityId(db, item.value)), waiter);
    case "seq":
      if (isOfRemoval) throw notFound("A receipt is never removed.");
      return proofs.ofReceipt(Number(item.value), waiter);
    case "index":
      if (isOfRemoval) throw notFound("An entry of the log is never removed.");
      return proofs.ofEntry(Number(item.value), waiter);
    default:
      throw badInput("item", "Name what is to be proved.");
  }
}
