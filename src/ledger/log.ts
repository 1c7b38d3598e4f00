/** The log in which the ledger reports to the operator. */
export interface LedgerLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
