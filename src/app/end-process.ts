/**
 * Ends this process, whatever it still does. `process.exit` first waits for the threads that use files and look up names, and
 * such a thread waits for ever on a file system that does not answer. In its place another program then ends at once.
 */
export function endProcess(exitCode = Number(process.exitCode ?? 0)): void {
  const isBusy = process.getActiveResourcesInfo().some((name) => /^(?:FSReq|GetAddrInfo)/.test(name));
  if (isBusy) process.execve?.("/bin/sh", ["sh", "-c", `exit ${exitCode}`], {});
  process.exit(exitCode);
}
