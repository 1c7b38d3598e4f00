import { loadGrpc } from "./load/grpc.ts";
import { loadHttp1 } from "./load/http1.ts";
import type { Load, Round } from "./load/recorder.ts";
import type { Protocol } from "./protocols.ts";

/** Makes calls for a while. Each connection makes one call at a time. */
export function runLoad(transport: Protocol["transport"], load: Load): Promise<Round> {
  return transport === "grpc" ? loadGrpc(load) : loadHttp1(load);
}
