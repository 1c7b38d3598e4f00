import type { Message } from "@bufbuild/protobuf";

/** The value of a member of a `oneof`; undefined where another member, or none, has one. Both names are the local ones. */
export function oneofMember(message: Message, oneof: string, member: string): unknown {
  const choice = (message as Message & Record<string, { case: string | undefined; value?: unknown }>)[oneof];
  return choice?.case === member ? choice.value : undefined;
}
