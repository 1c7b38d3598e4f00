import { readdirSync } from "node:fs";
import type { DescService } from "@bufbuild/protobuf";

const generated = new URL("../../gen/stoa/v1/", import.meta.url);

/** Every service of the contract without an implementation, for programs that need only the contract. */
export async function contractServices(): Promise<DescService[]> {
  const files = readdirSync(generated).filter((name) => name.endsWith("_service_pb.js"));
  const modules: object[] = await Promise.all(files.sort().map((name) => import(new URL(name, generated).href)));
  return modules.flatMap((module) => Object.values(module)).filter(({ kind }) => kind === "service");
}
