import { fileURLToPath } from "node:url";

/** The environment of every Node.js process of the tests. Compiled code is cached, as with npm start, for faster starts. */
export const nodeEnvironment = {
  PATH: process.env.PATH ?? "",
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/stoa-tests", import.meta.url)),
};
