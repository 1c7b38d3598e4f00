import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generate } from "selfsigned";
import { afterFile } from "../support/after-file.ts";
import { waitUntil } from "../support/wait.ts";

const folder = fileURLToPath(new URL("../../deploy/", import.meta.url));

/** Where a proxy listens, and what it needs. */
interface Site {
  port: number;
  replicas: string[];
  /** A folder for what the proxy writes. */
  folder: string;
  /** Paths of PEM files. */
  cert: string;
  key: string;
  both: string;
}

interface Proxy {
  /** The example, below deploy/. */
  file: string;
  /** The example for this machine: other addresses, certificates and folders, and nothing else. */
  adapt(example: string, site: Site): string;
  command(path: string, site: Site): string[];
}

const replaceAll = (text: string, changes: Record<string, string>) =>
  Object.entries(changes).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`the example has no ${from}`);
    return changed.replaceAll(from, to);
  }, text);

const hosts = ({ replicas: [first, second] }: Site) => ({
  "stoa-1:8080": first as string,
  "stoa-2:8080": second as string,
});

export const proxies: Record<string, Proxy> = {
  Caddy: {
    file: "caddy/Caddyfile",
    adapt: (example, site) =>
      replaceAll(example, {
        ...hosts(site),
        "{$STOA_SITE} {": `{\n\tadmin off\n\tauto_https off\n}\nhttps://localhost:${site.port} {\n\ttls ${site.cert} ${site.key}`,
      }).replace(/^([\s\S]*?)(\{\n\tadmin off\n\tauto_https off\n\}\n)/, "$2$1"),
    command: (path) => ["caddy", "run", "--adapter", "caddyfile", "--config", path],
  },
  nginx: {
    file: "nginx/stoa.conf",
    adapt: (example, site) => {
      const conf = replaceAll(example, {
        ...hosts(site),
        "listen 443": `listen 127.0.0.1:${site.port}`,
        "board.example;": "localhost;",
        "/etc/nginx/stoa.crt": site.cert,
        "/etc/nginx/stoa.key": site.key,
      });
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${site.folder};`,
      );
      return `daemon off;\npid ${site.folder}/pid;\nevents {}\nhttp {\naccess_log off;\n${temporary.join("\n")}\n${conf}\n}\n`;
    },
    command: (path, { folder: prefix }) => ["nginx", "-e", "stderr", "-p", prefix, "-c", path],
  },
  HAProxy: {
    file: "haproxy/haproxy.cfg",
    adapt: (example, site) =>
      replaceAll(example, {
        "stoa-1:8080": site.replicas[0] as string,
        "stoa-2:8080": site.replicas[1] as string,
        "bind :443": `bind 127.0.0.1:${site.port}`,
        "/etc/haproxy/stoa.pem": site.both,
      }),
    command: (path) => ["haproxy", "-f", path],
  },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Starts a proxy with the example of deploy/ before the replicas. It ends after the last test of the file.
 * @param replicas host:port of each
 * @returns its port, and its certificate in PEM
 */
export async function startProxy(name: string, replicas: string[]): Promise<{ port: number; ca: string }> {
  const { file, adapt, command } = proxies[name] as Proxy;
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
  });
  const own = mkdtempSync(join(tmpdir(), "stoa-test-proxy-"));
  afterFile(() => rmSync(own, { recursive: true, force: true }));
  const site = {
    port: await freePort(),
    replicas,
    folder: own,
    cert: join(own, "cert.pem"),
    key: join(own, "key.pem"),
    both: join(own, "both.pem"),
  };
  writeFileSync(site.cert, cert);
  writeFileSync(site.key, key);
  writeFileSync(site.both, `${cert}\n${key}`);
  const path = join(own, "config");
  writeFileSync(path, adapt(readFileSync(join(folder, file), "utf8"), site));
  const [program, ...args] = command(path, site);
  const child: ChildProcess = spawn(program as string, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: `${process.env.PATH}:/usr/sbin`, HOME: own },
  });
  let output = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const exited = once(child, "exit").catch((error: Error) => {
    throw new Error(`${program} does not start (${error.message}); install it to run this test`);
  });
  exited.catch((error) => {
    output += error;
  });
  afterFile(async () => {
    child.kill("SIGTERM");
    await exited.catch(() => {});
  });
  await waitUntil(`${name} to answer`, async () => {
    if (child.exitCode !== null || child.pid === undefined) throw new Error(output || `${program} is not installed`);
    return (await ask({ port: site.port, ca: cert }, "/readyz").catch(() => undefined))?.status === 200;
  });
  return { port: site.port, ca: cert };
}

import { request } from "node:https";

export interface Asked {
  status: number;
  text: string;
}

/** Sends a request over TLS to the proxy, from `localAddress`. */
export function ask(
  { port, ca }: { port: number; ca: string },
  path: string,
  options: { method?: string; key?: string; body?: object; localAddress?: string } = {},
): Promise<Asked> {
  const { key, body, localAddress = "127.0.0.1", method = body ? "POST" : "GET" } = options;
  return new Promise((resolve, reject) => {
    const headers = {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body && { "content-type": "application/json" }),
    };
    const sent = request(
      { host: "localhost", family: 4, port, ca, path, method, headers, localAddress },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part) => {
          text += part;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text })).on("error", reject);
      },
    );
    sent.on("error", reject).end(body && JSON.stringify(body));
  });
}
