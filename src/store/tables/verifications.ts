import type { Queryable, Tx } from "../database/queryable.ts";

/** The result of the last verifications. Times are milliseconds since 1970 (UTC). */
export interface VerificationRecord {
  /** The newest receipt up to which the chain was found good; 0 when nothing is known. */
  verifiedSeq: number;
  verifiedHash: string;
  verifiedAt: number;
  /** Grows with each finding. */
  round: number;
  alarm: StoredAlarm | undefined;
}

/** The first receipt that did not verify. */
export interface StoredAlarm {
  seq: number;
  fault: string;
  message: string;
  foundAt: number;
}

/** The row as it is stored. */
export interface VerificationRow {
  verified_seq: number;
  verified_hash: string;
  verified_at: number;
  round: number;
  alarm_seq: number | null;
  alarm_fault: string | null;
  alarm_message: string | null;
  alarm_at: number | null;
}

/** The longest message that is stored, in characters. */
const maxMessageLength = 1000;
const select = `SELECT verified_seq, verified_hash, verified_at, round, alarm_seq, alarm_fault, alarm_message, alarm_at
  FROM ledger_verification WHERE id = 1`;
const unknown: VerificationRecord = {
  verifiedSeq: 0,
  verifiedHash: "0".repeat(64),
  verifiedAt: 0,
  round: 0,
  alarm: undefined,
};

/** The row as it is stored; undefined before the first verification. */
export async function findVerification(db: Queryable): Promise<VerificationRow | undefined> {
  return (await db.rows<VerificationRow>(select))[0];
}

/** Reads the row. A missing row means the same as nothing verified. */
export async function readVerification(db: Queryable): Promise<VerificationRecord> {
  const row = await findVerification(db);
  return row === undefined ? unknown : toRecord(row);
}

/** Reads the row, and locks it until the transaction ends. */
export async function lockVerification(tx: Tx): Promise<VerificationRecord> {
  const [row] = await tx.rows<VerificationRow>(`${select} FOR UPDATE`);
  return row === undefined ? unknown : toRecord(row);
}

export async function putVerification(tx: Tx, record: VerificationRecord): Promise<void> {
  const { verifiedSeq, verifiedHash, verifiedAt, round, alarm } = record;
  const values = [
    verifiedSeq,
    verifiedHash,
    verifiedAt,
    round,
    alarm?.seq ?? null,
    alarm?.fault ?? null,
    alarm?.message.slice(0, maxMessageLength) ?? null,
    alarm?.foundAt ?? null,
  ];
  await tx.run(
    `INSERT INTO ledger_verification
       (id, verified_seq, verified_hash, verified_at, round, alarm_seq, alarm_fault, alarm_message, alarm_at)
     VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE verified_seq = ?, verified_hash = ?, verified_at = ?, round = ?,
       alarm_seq = ?, alarm_fault = ?, alarm_message = ?, alarm_at = ?`,
    [...values, ...values],
  );
}

function toRecord(row: VerificationRow): VerificationRecord {
  const { alarm_seq: seq, alarm_fault: fault, alarm_message: message, alarm_at: foundAt } = row;
  return {
    verifiedSeq: row.verified_seq,
    verifiedHash: row.verified_hash,
    verifiedAt: row.verified_at,
    round: row.round,
    alarm: seq === null ? undefined : { seq, fault: fault ?? "unknown", message: message ?? "", foundAt: foundAt ?? 0 },
  };
}
