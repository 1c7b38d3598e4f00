// The examples of deploy/ for proxies, adapted to this machine: other addresses, certificates and folders, and nothing else.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../deploy/", import.meta.url));

/** Where a proxy listens, and what it needs. */
export interface Site {
  port: number;
  /** host:port of each replica, of which the examples have two. */
  replicas: readonly string[];
  /** A folder for what the proxy writes. */
  folder: string;
  /** Paths of PEM files. */
  cert: string;
  key: string;
  both: string;
}

export interface Example {
  /** What the proxy is run with. */
  config(site: Site): string;
  command(path: string, site: Site): [string, ...string[]];
  environment?(site: Site): Record<string, string>;
  /** Whether stock means of the proxy bound the connections of an address; otherwise those of deploy/nftables do. */
  boundsConnections: boolean;
  /** Whether the example limits the requests of an address. */
  limitsRequests: boolean;
}

/** The example below deploy/, with these changes. @throws Error if it lacks what shall be changed */
function adapt(file: string, changes: Record<string, string>): string {
  let text = readFileSync(join(folder, file), "utf8");
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`deploy/${file} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** Whether this machine's Caddy is of this version, or newer. */
export function caddyIs(...wanted: [number, number, number]): boolean {
  const { stdout } = spawnSync("caddy", ["version"], { encoding: "utf8" });
  const found = (/(\d+)\.(\d+)\.(\d+)/.exec(stdout ?? "") ?? []).slice(1).map(Number);
  const [at] = wanted.flatMap((part, index) => (part === found[index] ? [] : [index]));
  return at === undefined || (found[at] as number) > (wanted[at] as number);
}

const hosts = ({ replicas: [first, second] }: Site) => ({
  "stoa-1:8080": first as string,
  "stoa-2:8080": second as string,
});

export const examples = {
  Caddy: {
    config: ({ cert, key }) =>
      adapt("caddy/Caddyfile", {
        "\n{\n": "\n{\n\tadmin off\n\tauto_https off\n",
        "\n{$STOA_SITE:STOA_SITE-is-not-set:set-it-to-the-public-name} {\n": `\n{$STOA_SITE} {\n\ttls ${cert} ${key}\n`,
      }),
    command: (path) => ["caddy", "run", "--adapter", "caddyfile", "--config", path],
    environment: ({ port, replicas }) => ({
      STOA_SITE: `https://localhost:${port}`,
      STOA_REPLICAS: replicas.join(" "),
    }),
    boundsConnections: false,
    limitsRequests: false,
  },
  nginx: {
    config: (site) => {
      const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${site.folder}/${name};`,
      );
      return adapt("nginx/nginx.conf", {
        ...hosts(site),
        "http {\n": `http {\n${temporary.join("\n")}\n`,
        "listen 443": `listen 127.0.0.1:${site.port}`,
        "board.example;": "localhost;",
        "/etc/nginx/stoa.crt": site.cert,
        "/etc/nginx/stoa.key": site.key,
      });
    },
    command: (path, { folder: own }) => {
      const settings = `daemon off; pid ${own}/pid;`;
      return ["nginx", "-e", "stderr", "-p", own, "-c", path, "-g", settings];
    },
    boundsConnections: false,
    limitsRequests: true,
  },
  HAProxy: {
    config: (site) =>
      adapt("haproxy/haproxy.cfg", {
        ...hosts(site),
        "bind :443": `bind 127.0.0.1:${site.port}`,
        "/etc/haproxy/stoa.pem": site.both,
      }),
    command: (path) => ["haproxy", "-f", path],
    boundsConnections: true,
    limitsRequests: true,
  },
} satisfies Record<string, Example>;

export type ProxyName = keyof typeof examples;
export const proxyNames = Object.keys(examples) as ProxyName[];
