import type { DescEnum, DescExtension, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The files of the contract and their imports, indexed by name, by symbol and by extension. */
export class Descriptors {
  /** The full names of the services, sorted. */
  readonly services: readonly string[];
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();
  /** By the extended message, then by field number. */
  readonly #extensions = new Map<string, Map<number, DescFile>>();
  readonly #messages = new Set<string>();
  readonly #bytes = new Map<DescFile, Uint8Array>();

  /** @param further files that no service imports */
  constructor(services: readonly DescService[], further: readonly DescFile[] = []) {
    this.services = services.map(({ typeName }) => typeName).sort();
    for (const file of [...services.map(({ file }) => file), ...further]) {
      for (const each of withImports(file)) this.#add(each);
    }
  }

  /** A file by its path, as `import` names it. */
  fileNamed(path: string): DescFile | undefined {
    return this.#files.get(path);
  }

  /** The file that declares this full name: a type, a service, or a part of one. */
  fileOfSymbol(name: string): DescFile | undefined {
    return this.#symbols.get(name);
  }

  /** The file that declares the extension of a message with this field number. */
  fileOfExtension(message: string, number: number): DescFile | undefined {
    return this.#extensions.get(message)?.get(number);
  }

  /** The field numbers of all extensions of a message, ascending; undefined for an unknown message. */
  extensionNumbers(message: string): number[] | undefined {
    const numbers = this.#extensions.get(message);
    if (numbers === undefined) return this.#messages.has(message) ? [] : undefined;
    return [...numbers.keys()].sort((a, b) => a - b);
  }

  /** The bytes of a file's google.protobuf.FileDescriptorProto, with custom options as the compiler wrote them. */
  bytesOf(file: DescFile): Uint8Array {
    let bytes = this.#bytes.get(file);
    if (bytes === undefined) {
      bytes = toBinary(FileDescriptorProtoSchema, file.proto);
      this.#bytes.set(file, bytes);
    }
    return bytes;
  }

  #add(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    this.#files.set(file.proto.name, file);
    for (const type of nestedTypes(file)) {
      this.#symbols.set(type.typeName, file);
      switch (type.kind) {
        case "message":
          this.#addMessage(type);
          break;
        case "enum":
          this.#addEnum(type);
          break;
        case "extension":
          this.#addExtension(type);
          break;
        case "service":
          for (const { name } of type.methods) this.#symbols.set(`${type.typeName}.${name}`, file);
      }
    }
  }

  #addMessage({ typeName, fields, oneofs, file }: DescMessage): void {
    this.#messages.add(typeName);
    for (const { name } of [...fields, ...oneofs]) this.#symbols.set(`${typeName}.${name}`, file);
  }

  /** The values of an enum are in the scope around the enum, not in the enum. */
  #addEnum({ typeName, values, file }: DescEnum): void {
    const scope = typeName.slice(0, typeName.lastIndexOf(".") + 1);
    for (const { name } of values) this.#symbols.set(scope + name, file);
  }

  #addExtension({ extendee: { typeName }, number, file }: DescExtension): void {
    const numbers = this.#extensions.get(typeName) ?? new Map<number, DescFile>();
    this.#extensions.set(typeName, numbers.set(number, file));
  }
}

/** A file, then all its direct and indirect imports; each once, breadth first. */
export function withImports(file: DescFile): DescFile[] {
  const found = new Set([file]);
  // The set grows while it is walked.
  for (const { dependencies } of found) for (const each of dependencies) found.add(each);
  return [...found];
}
