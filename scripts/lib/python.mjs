// Python with grpcio, in which an example is written.
import { spawnSync } from "node:child_process";

/** The Python that has grpcio and protobuf, Debian's own first; undefined if there is none. */
export function findPython() {
  const has = (python) => spawnSync(python, ["-c", "import grpc, google.protobuf"]).status === 0;
  return ["/usr/bin/python3", "python3"].find(has);
}
