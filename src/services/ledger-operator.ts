import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type LedgerOperatorService,
  SealDailyResponseSchema,
  type SealSessionRequest,
  SealSessionResponseSchema,
  SealSessionsResponseSchema,
} from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { operatorOf } from "../calls/call.ts";
import type { Actor, Operator } from "../calls/operator.ts";
import { badInput } from "../errors.ts";
import type { Writes } from "../idempotency/writes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { inSession, type SessionInput, sealSession, sealSessions } from "../ledger/sealing/session.ts";
import { checkNamesAsRead } from "./json-names.ts";
import type { ReceiptMapper } from "./receipt-mapper.ts";

const defaultActor = { agent: "operator", seat: "desk" };

export function createLedgerOperatorService(
  ledger: Ledger,
  writes: Writes,
  mapper: ReceiptMapper,
): ServiceImpl<typeof LedgerOperatorService> {
  return {
    sealSession(request, context) {
      const input = inputOf(context, request);
      return writes.seal(context, request, async (sealing) => {
        const row = await sealSession(sealing, input);
        return create(SealSessionResponseSchema, { receipt: mapper.receipt(row) });
      });
    },

    async sealSessions(request, context) {
      const inputs: SessionInput[] = [];
      for (const [index, each] of request.sessions.entries()) {
        inputs.push(await inSession(index, () => inputOf(context, each)));
      }
      return writes.seal(context, request, async (sealing) => {
        const rows = await sealSessions(sealing, inputs);
        return create(SealSessionsResponseSchema, { receipts: rows.map((row) => mapper.receipt(row)) });
      });
    },

    async sealDaily({ date, catchUp }, context) {
      const { signal } = context;
      operatorOf(context).checkBook(undefined);
      if (!catchUp) {
        return ledger.days.seal(signal, date, (row) =>
          create(SealDailyResponseSchema, { receipt: mapper.receipt(row), dates: [date] }),
        );
      }
      const { dates, newest } = await ledger.days.sealMissed(signal, date);
      return create(SealDailyResponseSchema, {
        dates,
        ...(newest === undefined ? {} : { receipt: mapper.receipt(newest) }),
      });
    },
  };
}

/** What a session is sealed with. @throws StoaError `forbidden`, `bad_input` */
function inputOf(context: HandlerContext, request: SealSessionRequest): SessionInput {
  const { book, session, note, source, evidence = {} } = request;
  const operator = operatorOf(context);
  operator.checkBook(book);
  const actor = actorOf(operator, request);
  checkNamesAsRead(context, evidence, "evidence");
  return { book, session, note, source, evidence, actor };
}

/** Whom a receipt names: the holder of a token that has a name, or whom the request names. @throws StoaError `bad_input` */
function actorOf({ actor }: Operator, { actorAgent, actorSeat }: SealSessionRequest): Actor {
  if (actor === undefined) return { agent: actorAgent ?? defaultActor.agent, seat: actorSeat ?? defaultActor.seat };
  const { agent, seat } = actor;
  if ((actorAgent ?? agent) !== agent)
    throw badInput("actor_agent", `This token seals as ${agent}; leave actor_agent out.`);
  if ((actorSeat ?? seat) !== seat) throw badInput("actor_seat", `This token seals at ${seat}; leave actor_seat out.`);
  return actor;
}
