/**
 * Ends this process, whatever it still does. `process.exit` first waits for the threads that use files or look up
 * names, for ever if a file system does not answer. So a busy process is replaced by a shell that exits at once.
 */
export function endProcess(exitCode = Number(process.exitCode ?? 0)): void {
  const isBusy = process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfo)/.test(name));
  if (isBusy) process.execve?.("/bin/sh", ["sh", "-c", `exit ${exitCode}`], {});
  process.exit(exitCode);
}
