import type { Router } from "../http/edge/router.ts";
import { Precompressed } from "../http/replies/precompressed.ts";

/** Where vulnerabilities of this board are reported. */
export interface Security {
  /** URIs, the preferred one first. */
  contacts: readonly string[];
  /** The date, YYYY-MM-DD, on which this expires. */
  expires: string;
}

const path = "/.well-known/security.txt";

/** Adds /.well-known/security.txt (RFC 9116). Addresses of the web in it must be https. */
export function addSecurityText(router: Router, { contacts, expires }: Security, siteUrl: string): void {
  const lines = [...contacts.map((contact) => `Contact: ${contact}`), `Expires: ${expires}T00:00:00Z`];
  if (siteUrl.startsWith("https:")) lines.push(`Canonical: ${siteUrl}${path}`);
  const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "public, max-age=3600" };
  const text = new Precompressed(`${lines.join("\n")}\n`, headers);
  router.get(path, { limits: "none", serve: (request) => text.reply(request) });
}
