// The files to run Stoa from: settings, ports, paths and metrics that they name exist.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readConfig } from "../../src/config/config.ts";
import { startService } from "../support/service.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const kubernetes = parseAllDocuments(read("deploy/kubernetes/stoa.yaml")).map((document) => {
  expect(document.errors).toEqual([]);
  return document.toJS();
});
const stateful = kubernetes.find(({ kind }) => kind === "StatefulSet").spec.template.spec;
const [container] = stateful.containers;
const compose = parse(read("compose.yaml"), { merge: true });
const dockerfile = read("Dockerfile");
/** What the examples for proxies read. They are no settings of the service. */
const forProxies = ["STOA_SITE", "STOA_REPLICAS"];

describe("the settings in", () => {
  it.each([
    ["Dockerfile", /\b(STOA_\w+)=/g],
    ["compose.yaml", /^ +(STOA_\w+):/gm],
    ["deploy/galera/compose.yaml", /^ +(STOA_\w+):/gm],
    ["deploy/kubernetes/stoa.yaml", /name: (STOA_\w+)/g],
  ])("%s exist", (path, pattern) => {
    const names = [...read(path).matchAll(pattern)]
      .map(([, name]) => name as string)
      .filter((name) => !forProxies.includes(name));
    expect(names).not.toEqual([]);
    const known = new Set<string>();
    readConfig(new Proxy({}, { get: (_, name) => void known.add(String(name)) }) as Record<string, undefined>);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("the image", () => {
  it("runs the service as npm start does, without root", () => {
    const { scripts } = JSON.parse(read("package.json"));
    const flags = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] as string).slice(1);
    expect(scripts.start).toContain(`exec node ${flags.join(" ")} src/main.ts`);
    const variables = scripts.start.match(/MALLOC_\w+=\S+/g);
    expect(variables).toHaveLength(1);
    for (const variable of variables) expect(dockerfile).toContain(variable);
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    expect(dockerfile).toMatch(/^STOPSIGNAL SIGTERM$/m);
  });

  it("copies only files that exist and that the context contains", () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names]) =>
      (names as string).split(" "),
    );
    expect(sources).toContain("src");
    const context = read(".dockerignore").split("\n");
    for (const source of sources) {
      expect(existsSync(new URL(source, root)), source).toBe(true);
      expect(context).toContain(`!${source}`);
    }
  });

  it("has a health check that passes only while the service answers", async () => {
    const { url } = await startService();
    const script = fileURLToPath(new URL("deploy/healthcheck.mjs", root));
    const check = async (port: string) =>
      (await once(spawn(process.execPath, [script], { env: { STOA_PORT: port } }), "exit"))[0];
    expect([await check(new URL(url).port), await check("1")]).toEqual([0, 1]);
  });
});

describe("compose", () => {
  const { stoa, caddy } = compose.services;

  it("runs replicas that can be scaled, each with a volume of its own for its guard", () => {
    expect(stoa).toMatchObject({ read_only: true, cap_drop: ["ALL"], deploy: { replicas: 2 } });
    // A container with a name or a port of its own exists only once. A volume without a name is that of one container.
    for (const name of ["container_name", "ports"]) expect(stoa).not.toHaveProperty(name);
    expect(stoa.volumes).toEqual([/STOA_DATA_DIR=(\S+)/.exec(dockerfile)?.[1]]);
    const { stopDelayMs, drainTimeoutMs } = readConfig({
      STOA_STOP_DELAY_SECONDS: stoa.environment.STOA_STOP_DELAY_SECONDS,
    });
    expect(stopDelayMs).toBeGreaterThan(2_000);
    expect(Number.parseInt(stoa.stop_grace_period, 10)).toBeGreaterThan((stopDelayMs + drainTimeoutMs) / 1000 + 10);
  });

  it("tells Caddy the names that four replicas have", () => {
    const [, names = ""] = /^\$\{STOA_REPLICAS:-(.*)\}$/.exec(caddy.environment.STOA_REPLICAS) ?? [];
    const [, port] = /STOA_PORT=(\d+)/.exec(dockerfile) ?? [];
    expect(names.split(" ")).toEqual([1, 2, 3, 4].map((n) => `${compose.name}-stoa-${n}:${port}`));
    for (const name of forProxies) {
      expect(caddy.environment).toHaveProperty(name);
      expect(read("deploy/caddy/Caddyfile")).toContain(`{$${name}:`);
    }
  });

  it("opens only the proxy to the world, and mounts what exists", () => {
    const services = Object.entries<{ ports?: unknown; volumes?: string[] }>(compose.services);
    expect(services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(["caddy"]);
    const galera = parse(read("deploy/galera/compose.yaml"), { merge: true });
    const further = Object.values<{ volumes?: string[] }>(galera.services);
    const volumes = [...services.map(([, service]) => service), ...further].flatMap((service) => service.volumes ?? []);
    for (const volume of volumes.map((each) => each.split(":")[0] as string)) {
      if (volume.startsWith("./")) expect(existsSync(new URL(volume, root)), volume).toBe(true);
      else if (!volume.startsWith("/")) expect({ ...compose.volumes, ...galera.volumes }).toHaveProperty([volume]);
    }
    expect(Object.keys(galera.services)).toContain("stoa");
  });
});

it("the pods of HAProxy run the example before the replicas that are ready", () => {
  const text = read("deploy/kubernetes/haproxy.yaml");
  const [deployment, service] = parseAllDocuments(text).map((each) => each.toJS());
  // What is made may exist, and a file that is mounted by subPath changes in new pods only.
  for (const line of text.matchAll(/kubectl create .*/g))
    expect(line[0]).toMatch(/--dry-run=client -o yaml \| kubectl apply -f -$/);
  expect(text).toContain(`kubectl rollout restart deployment/${deployment.metadata.name}\n`);
  const [haproxy] = deployment.spec.template.spec.containers;
  expect(service.spec.selector).toEqual(deployment.spec.template.metadata.labels);
  const [{ name, value }] = haproxy.env;
  expect(read("deploy/haproxy/haproxy.cfg")).toContain(`"\${${name}}"`);
  const replicas = kubernetes.find(({ kind, spec }) => kind === "Service" && spec.clusterIP === "None");
  expect(value).toBe(`${replicas.metadata.name}:${replicas.spec.ports[0].port}`);
  expect(replicas.spec.selector).toEqual(
    kubernetes.find(({ kind }) => kind === "StatefulSet").spec.template.metadata.labels,
  );
  for (const { mountPath } of haproxy.volumeMounts.slice(1)) {
    expect(read("deploy/haproxy/haproxy.cfg")).toContain(mountPath);
  }
});

it("the pods run as the image's account, with its ports, paths and time to stop", () => {
  expect(stateful.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001 });
  // Otherwise each mount lets the group read the key of the log.
  expect(stateful.securityContext).toMatchObject({ fsGroupChangePolicy: "OnRootMismatch" });
  expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
  const ports = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort);
  expect(ports.join(" ")).toBe(/^EXPOSE (.*)$/m.exec(dockerfile)?.[1]);
  const mounts = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
  expect(mounts).toContain(/STOA_DATA_DIR=(\S+)/.exec(dockerfile)?.[1]);
  const { storage } = kubernetes.find(({ kind }) => kind === "StatefulSet").spec.volumeClaimTemplates[0].spec.resources
    .requests;
  // The log folder has about 158 bytes for each entry.
  expect(Number(/^(\d+)Gi$/.exec(storage)?.[1]) * 2 ** 30).toBeGreaterThan(10_000_000 * 158);
  const settings = container.env.filter(({ value }: { value?: string }) => value !== undefined);
  const { stopDelayMs, drainTimeoutMs } = readConfig(
    Object.fromEntries(settings.map(({ name, value }: { name: string; value: string }) => [name, value])),
  );
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  expect(stopDelayMs / 1000).toBeGreaterThan(periodSeconds * failureThreshold);
  expect(stateful.terminationGracePeriodSeconds).toBeGreaterThan((stopDelayMs + drainTimeoutMs) / 1000 + 10);
});

it("no pod has variables of Services: that of the Service named stoa would be STOA_PORT, a setting", () => {
  const pods = kubernetes.map(({ spec }) => (spec.jobTemplate?.spec ?? spec).template?.spec).filter(Boolean);
  expect(pods.map(({ enableServiceLinks }) => enableServiceLinks)).toEqual([false, false]);
});

describe("the database is checked every day by", () => {
  const program = "src/operator/main.ts";

  it("a CronJob, as the account of the image", () => {
    const { schedule, jobTemplate } = kubernetes.find(({ kind }) => kind === "CronJob").spec;
    const { containers, ...pod } = jobTemplate.spec.template.spec;
    expect(schedule).toMatch(/^\d+ \d+ \* \* \*$/);
    const { fsGroup, fsGroupChangePolicy, ...account } = stateful.securityContext;
    expect(pod).toMatchObject({ restartPolicy: "Never", securityContext: account });
    const [{ image: name, args, env, securityContext }] = containers;
    expect({ name, args, securityContext }).toEqual({
      name: container.image,
      args: [program, "fsck"],
      securityContext: container.securityContext,
    });
    const secret = (of: { env: { name: string }[] }) => of.env.find(({ name }) => name === "STOA_DATABASE_URL");
    expect(secret({ env })).toEqual(secret(container));
  });

  it("a service of compose, in a profile", () => {
    const { fsck } = compose.services;
    expect(fsck).toMatchObject({ profiles: ["fsck"], read_only: true, cap_drop: ["ALL"] });
    expect(fsck.entrypoint.join(" ")).toMatch(
      new RegExp(`^/bin/sh -c while .* node ${program} fsck; sleep 86400; done$`),
    );
    expect(fsck.environment).toEqual(compose.services.stoa.environment);
  });
});

describe("the metrics that are named in", () => {
  let names: Set<string>;
  beforeAll(async () => {
    const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
    const service = await startService({ config: { metrics } });
    await service.rest("feed");
    const text = await (await fetch(service.app.metricsUrl as string)).text();
    const described = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    names = new Set(
      described.flatMap(([, name, type]) => (type === "histogram" ? [`${name}_bucket`] : [name as string])),
    );
    // These exist only beside a private database. The page for operators lists all metrics.
    for (const [name] of read("docs/reference.md").matchAll(/stoa_disk_\w+/g)) names.add(name);
  });

  it.each([
    [
      "deploy/prometheus/alerts.yaml",
      (text: string) => parse(text).groups[0].rules.map(({ expr }: { expr: string }) => expr),
    ],
    [
      "deploy/grafana/stoa.json",
      (text: string) =>
        JSON.parse(text).panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
          targets.map(({ expr }) => expr),
        ),
    ],
  ])("%s exist", (path, expressionsOf) => {
    const expressions: string[] = expressionsOf(read(path));
    expect(expressions.length).toBeGreaterThan(5);
    const used = expressions.flatMap((expression) => expression.match(/\b(stoa|process|nodejs)_\w+/g) ?? []);
    expect(used).not.toEqual([]);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  });
});
