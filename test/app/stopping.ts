import { expect } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { ServiceProcess } from "../support/process.ts";

/** Starts a service, which is killed after the last test of the file. @param within a command that runs it */
export function startToStop(environment: Record<string, string>, within: readonly string[] = []): ServiceProcess {
  const service = new ServiceProcess({ STOA_DRAIN_SECONDS: "1", ...environment }, { within });
  afterFile(() => service.end("SIGKILL"));
  return service;
}

/** Stops the service with SIGTERM. It ends by itself, long before the time-outs of a minute and more that could end it, too. */
export async function expectStop(service: ServiceProcess): Promise<void> {
  const begun = performance.now();
  await service.end("SIGTERM");
  expect(await service.exited).toBe(0);
  expect(performance.now() - begun).toBeLessThan(50_000);
}
