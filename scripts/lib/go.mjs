// Go and its package golang.org/x/mod, with which the tests compare the transparency log.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasCommand } from "./apt.mjs";

/** Where Debian's packages have their sources. */
const debian = "/usr/share/gocode";

/** The GOPATH that has golang.org/x/mod; undefined if there is none. */
export function findGoPackages() {
  return [process.env.GOPATH, debian].find((path) => path && existsSync(join(path, "src/golang.org/x/mod/sumdb/tlog")));
}

/** The environment variables with which Go compiles a program that uses the package. @throws Error that says what to install */
export function goEnvironment() {
  const path = findGoPackages();
  const missing = [...(hasCommand("go") ? [] : ["golang-go"]), ...(path ? [] : ["golang-golang-x-mod-dev"])];
  if (missing.length > 0) throw new Error(`the tests need Go and golang.org/x/mod; install ${missing.join(" and ")}`);
  return { ...process.env, GO111MODULE: "off", GOPATH: path, GOFLAGS: "" };
}
