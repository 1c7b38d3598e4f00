/** From which use of memory on new work is refused. */
export interface OverloadLimits {
  /** Of the heap that V8 may have, by what is reachable, as a share; undefined means no limit. */
  heapShare: number | undefined;
  /** Of the process's resident memory, in bytes; undefined means no limit. */
  residentBytes: number | undefined;
}
