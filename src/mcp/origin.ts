import { StoaError } from "../errors.ts";

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Refuses a request that a page of another site makes, as MCP requires: a page could reach a service in its visitor's
 * network by rebinding its own name, and then Host says that name, too. So Origin is compared with the address that the
 * service is known by. Programs send no Origin.
 * @throws StoaError `forbidden`
 */
export function checkOrigin(origin: string | undefined, siteUrl: string): void {
  if (origin === undefined || origin === "") return;
  const site = new URL(siteUrl);
  if (origin === site.origin) return;
  // On a developer's machine, a tool in a browser has another port.
  const url = URL.parse(origin);
  if (url !== null && loopback.test(site.hostname) && loopback.test(url.hostname)) return;
  throw new StoaError("forbidden", "Pages of other sites may not use this address.");
}
