import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "selfsigned";
import { scratchFolder } from "../support/scratch-folder.ts";
import type { Site } from "./examples.ts";

/** A folder with a certificate for `localhost`, which is removed after the last test of the file. */
export async function makeSite(replicas: readonly string[], port: number): Promise<{ cert: string; site: Site }> {
  const folder = scratchFolder();
  // nginx writes large bodies to files there, as another account.
  chmodSync(folder, 0o711);
  const pems = await generate([{ name: "commonName", value: "localhost" }], {
    keyType: "ec",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  const paths = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), both: join(folder, "both.pem") };
  const site = { port, replicas, folder, ...paths };
  writeFileSync(site.cert, pems.cert);
  writeFileSync(site.key, pems.private);
  writeFileSync(site.both, `${pems.cert}\n${pems.private}`);
  return { cert: pems.cert, site };
}
