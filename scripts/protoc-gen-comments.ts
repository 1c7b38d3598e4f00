#!/usr/bin/env node
// A plugin of `buf generate` (buf.gen.yaml). It writes the comments of the contract to gen/comments.js, by the full names of the
// commented elements, because the generated descriptors lack comments. The API description uses them.
import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { createEcmaScriptPlugin, getComments, runNodeJs, type Schema } from "@bufbuild/protoplugin";

const type = "Readonly<Record<string, string>>";

const plugin = createEcmaScriptPlugin({
  name: "protoc-gen-comments",
  version: "v1",
  generateTs: (schema) => printTable(schema, "comments.ts", `: ${type}`),
  generateJs: (schema) => printTable(schema, "comments.js", ""),
  generateDts(schema) {
    const file = schema.generateFile("comments.d.ts");
    file.print("/** The comments of the contract, by the full names of the commented elements. */");
    file.print(`export declare const comments: ${type};`);
  },
});

function printTable(schema: Schema, name: string, annotation: string): void {
  const file = schema.generateFile(name);
  file.print("// Generated from the comments of proto/. DO NOT EDIT.");
  file.print(`export const comments${annotation} = {`);
  for (const [name, comment] of commentsOf(schema)) {
    file.print("  ", JSON.stringify(name), ": ", JSON.stringify(comment), ",");
  }
  file.print("};");
}

function commentsOf(schema: Schema): [name: string, comment: string][] {
  return schema.files
    .filter(({ proto }) => proto.package.startsWith("stoa."))
    .flatMap(describedBy)
    .map((desc): [string, string] => [nameOf(desc), textOf(desc)])
    .filter(([, comment]) => comment !== "");
}

type Described = Exclude<AnyDesc, DescFile>;

/** Returns all elements of a file that can have a comment, in the order of the file. */
function describedBy(file: DescFile): Described[] {
  const inMessage = (message: DescFile["messages"][number]): Described[] => [
    message,
    ...message.fields,
    ...message.nestedEnums.flatMap(inEnum),
    ...message.nestedMessages.flatMap(inMessage),
  ];
  const inEnum = (each: DescFile["enums"][number]): Described[] => [each, ...each.values];
  return [
    ...file.services.flatMap((service) => [service, ...service.methods]),
    ...file.enums.flatMap(inEnum),
    ...file.messages.flatMap(inMessage),
  ];
}

/** Returns the name of an enum value with its enum's name as prefix, like a field. Its protobuf name has the enum's parent instead. */
function nameOf(desc: Described): string {
  return "typeName" in desc ? desc.typeName : `${desc.parent?.typeName}.${desc.name}`;
}

/** Returns the comment as one text. Lines are joined, and blank lines still end paragraphs. */
function textOf(desc: Described): string {
  const { leading = "", trailing = "" } = getComments(desc);
  return `${leading}\n\n${trailing}`
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "")
    .join("\n\n");
}

runNodeJs(plugin);
