import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type LedgerOperatorService,
  SealDailyResponseSchema,
  SealSessionResponseSchema,
} from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import type { Writes } from "../idempotency/writes.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { sealSession } from "../ledger/sealing/session.ts";
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
      const { book, session, note, source, evidence = {}, actorAgent, actorSeat } = request;
      const actor = { agent: actorAgent ?? defaultActor.agent, seat: actorSeat ?? defaultActor.seat };
      checkNamesAsRead(context, evidence, "evidence");
      return writes.seal(context, request, async (sealing) => {
        const row = await sealSession(sealing, { book, session, note, source, evidence, actor });
        return create(SealSessionResponseSchema, { receipt: mapper.receipt(row) });
      });
    },

    async sealDaily({ date, catchUp }, { signal }) {
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
