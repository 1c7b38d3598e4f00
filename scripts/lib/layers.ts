// The layers of src/ and what each may import, from src/ and from packages. `npm run generate` writes
// scripts/biome.layers.json from this table. biome.json extends that file, and `npm run check` fails if the two differ.

/** The packages that only some layers may import, by their names in the table. */
const packages: Record<string, readonly string[]> = {
  fastify: ["fastify", "@fastify/*"],
  connect: ["@connectrpc/*"],
  protobuf: ["@bufbuild/*"],
  mysql: ["mysql2", "mysql2/*"],
  "mcp-sdk": ["@modelcontextprotocol/*"],
  otel: ["@opentelemetry/*"],
  "lru-cache": ["lru-cache"],
};

const ofRequests = "errors gen contract rate-limits timing calls fastify connect protobuf";

/** What each layer may import, from the lowest layer to the highest. No layer imports one that comes after it. */
export const layers: Record<string, string> = {
  // The basis of all other layers.
  gen: "protobuf",
  errors: "",
  timing: "errors",
  warnings: "",
  tracing: "otel",
  receipt: "",
  tlog: "receipt",
  markdown: "lru-cache",
  "rate-limits": "errors timing lru-cache",
  process: "errors timing",
  config: "rate-limits process",
  // The contract, and the conversion between REST and its messages.
  contract: "errors gen protobuf",
  transcoding: "errors gen contract protobuf",
  // The stored data and its rules.
  store: "errors timing tracing receipt process mysql",
  "private-database": "errors process timing store mysql",
  board: "errors timing rate-limits markdown tlog store lru-cache",
  ledger: "errors timing tracing receipt tlog process store",
  log: "errors timing tracing receipt tlog process store board lru-cache",
  // Calls: their callers, their processing and their effects.
  calls: "errors gen contract rate-limits timing tracing board fastify connect protobuf lru-cache",
  idempotency: "errors gen contract store board ledger calls connect protobuf",
  services:
    "errors gen receipt tlog rate-limits markdown contract board ledger log calls idempotency connect protobuf lru-cache",
  // The health and reflection services of gRPC, outside the contract.
  "grpc-services": "errors gen rate-limits timing calls connect protobuf",
  metrics: "errors config timing calls fastify protobuf",
  // The network.
  "http/requests": `${ofRequests} tracing http/port`,
  "http/admission": `${ofRequests} process http/requests`,
  // The port knows no application.
  "http/port": "timing",
  "http/replies": `${ofRequests} http/requests`,
  "http/errors": `${ofRequests} http/requests http/replies`,
  "http/streams": `${ofRequests} process http/admission http/requests`,
  "http/edge": `${ofRequests} config tracing http/port metrics http/admission http/requests http/errors http/replies`,
  "http/health": `${ofRequests} metrics http/admission http/edge http/requests http/replies`,
  "http/rest": `${ofRequests} transcoding http/admission http/edge http/errors http/requests http/replies http/streams`,
  "http/rpc": `${ofRequests} http/admission http/edge http/errors http/requests http/replies http/streams`,
  http: `${ofRequests} process config metrics http/*`,
  site: `${ofRequests} markdown transcoding http/edge http/replies http/requests lru-cache`,
  "api-docs": `${ofRequests} transcoding http/edge http/errors http/replies http/requests`,
  mcp: `${ofRequests} transcoding http/admission http/edge http/replies http/requests http/rest http/streams api-docs mcp-sdk`,
  // Programs on other machines.
  client: "gen receipt tlog connect protobuf",
  browser: "client receipt tlog",
  cli: "client receipt tlog",
  // The composition of all layers, and the operator's commands.
  operator: "errors process config receipt tlog store private-database board ledger log cli timing",
  app: "errors timing tracing otel warnings tlog process config rate-limits store private-database board ledger log calls idempotency services grpc-services metrics http http/* site api-docs mcp fastify",
  main: "config app",
};

/** The layers that import no module of Node.js, and no package that is not named above: some run in browsers. */
const pure = ["errors", "timing", "warnings", "receipt", "tlog", "rate-limits", "browser"];
/** The layers that run elsewhere than in Node.js, too. */
const portable = ["client"];

interface Override {
  includes: string[];
  linter: { rules: { style: { noRestrictedImports: unknown } } };
}

/** Returns the lint rule of each layer: the imports that are forbidden there. */
function layerRules(): Override[] {
  return Object.entries(layers)
    .filter(([layer]) => layer !== "gen")
    .map(([layer, text]) => {
      const allowed = text.split(" ").filter((each) => each !== "");
      const message = `The layers in scripts/lib/layers.ts do not allow this: src/${layer} may import ${allowed.join(", ") || "nothing"}.`;
      const groups = [deniedTo(layer, allowed)];
      const named = allowed.flatMap((each) => packages[each] ?? []).map((each) => `!${each}`);
      if (pure.includes(layer)) groups.push(["*", "**", "!./**", "!../**", ...named]);
      if (portable.includes(layer)) groups.push(["node:*"]);
      const options = { patterns: groups.map((group) => ({ group, message })) };
      const noRestrictedImports = { level: "error", options };
      return { includes: [...filesOf(layer)], linter: { rules: { style: { noRestrictedImports } } } };
    });
}

function filesOf(layer: string): string[] {
  if (isFile(layer)) return [`src/${layer}.ts`];
  // Each folder in http/ is a layer.
  return layer === "http" ? ["src/http/*"] : [`src/${layer}/**`];
}

function isFile(layer: string): boolean {
  return ["errors", "warnings", "main"].includes(layer);
}

function deniedTo(layer: string, allowed: readonly string[]): string[] {
  const mayImport = (other: string) =>
    other === layer ||
    allowed.some((each) => each === other || (each.endsWith("/*") && other.startsWith(each.slice(0, -1))));
  const ours = Object.keys(layers)
    .filter((other) => !mayImport(other))
    .flatMap(patternsOf);
  const others = Object.entries(packages).flatMap(([name, patterns]) => (allowed.includes(name) ? [] : patterns));
  return [...ours, ...others];
}

/** Returns the patterns of the paths by which files of a layer are imported. */
function patternsOf(layer: string): string[] {
  if (isFile(layer)) return [1, 2, 3].map((depth) => `${"../".repeat(depth)}${layer}.ts`);
  if (layer === "http") return ["**/http/*.ts"];
  const folder = layer.replace("http/", "");
  // gen/ has folders with the same names.
  return folder === layer ? [`**/${layer}/**`] : [`**/${layer}/**`, `../${folder}/**`, `../../${folder}/**`];
}

/** Returns the text of scripts/biome.layers.json, which biome.json extends. */
export function layerSettings(): string {
  const lines = layerRules().map((each) => `    ${JSON.stringify(each)}`);
  return `{\n  "overrides": [\n${lines.join(",\n")}\n  ]\n}\n`;
}
