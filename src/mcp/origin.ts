import { StoaError } from "../errors.ts";

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Refuses requests from pages of other sites, as MCP requires. By DNS rebinding such a page can reach a service in the network
 * of its visitor, and then Host has the name of the page's site. So Origin is compared with the public address of the service.
 * Programs send no Origin.
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
