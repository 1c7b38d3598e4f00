import type { DescMessage } from "@bufbuild/protobuf";

export function isTimestamp(desc: DescMessage): boolean {
  return desc.typeName === "google.protobuf.Timestamp";
}
