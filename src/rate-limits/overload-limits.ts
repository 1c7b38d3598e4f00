/** The memory use above which new work is refused. */
export interface OverloadLimits {
  /** The reachable share of the heap that V8 may use; undefined means no limit. */
  heapShare: number | undefined;
  /** The resident memory of the process, in bytes; undefined means no limit. */
  residentBytes: number | undefined;
}
