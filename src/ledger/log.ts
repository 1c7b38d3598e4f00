/** What the ledger tells the operator. */
export interface LedgerLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
