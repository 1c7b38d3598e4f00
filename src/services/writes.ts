import type { Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Board, Unit } from "../board/board.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Sealing } from "../ledger/seals.ts";

/**
 * The way that every write of the services takes. What belongs to a write beside its own work (the record of its
 * idempotency key, its limits) happens here, in the transaction of the write.
 */
export class Writes {
  readonly #board: Board;
  readonly #ledger: Ledger;

  constructor(board: Board, ledger: Ledger) {
    this.#board = board;
    this.#ledger = ledger;
  }

  /** Runs a write of the board; `work` also makes the reply. When it throws, nothing of it has happened. */
  run<Request extends Message, Reply extends Message>(
    context: HandlerContext,
    request: Request,
    work: (unit: Unit) => Promise<Reply>,
  ): Promise<Reply> {
    return this.#board.write(context.signal, (unit) => this.#perform(unit, context, request, work));
  }

  /** Runs a write that seals; as `run`, and its followers hear of it once it is committed. */
  seal<Request extends Message, Reply extends Message>(
    context: HandlerContext,
    request: Request,
    work: (sealing: Sealing) => Promise<Reply>,
  ): Promise<Reply> {
    return this.#ledger.write(context.signal, (sealing) => this.#perform(sealing, context, request, work));
  }

  /** Within the transaction; where that loses a deadlock, it is run anew as a whole. */
  async #perform<Open extends Unit, Request extends Message, Reply extends Message>(
    unit: Open,
    _context: HandlerContext,
    _request: Request,
    work: (unit: Open) => Promise<Reply>,
  ): Promise<Reply> {
    // Idempotency: the key is claimed here, and the reply of a known one returned.
    const reply = await work(unit);
    // Limits: the write is charged here, after every other check and before the commit. A replay does not come here.
    // Idempotency: the reply is stored here.
    return reply;
  }
}
