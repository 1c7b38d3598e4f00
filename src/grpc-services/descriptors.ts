import type { DescEnum, DescExtension, DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
import { createRegistry, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The files of the contract and their imports, which clients find by name, by symbol and by extension. */
export class Descriptors {
  /** The full names of the services, sorted. */
  readonly services: readonly string[];
  readonly #files: ReadonlyMap<string, DescFile>;
  readonly #registry: Registry;
  readonly #bytes = new Map<DescFile, Uint8Array>();

  /** @param further files that no service imports */
  constructor(services: readonly DescService[], further: readonly DescFile[] = []) {
    this.services = services.map(({ typeName }) => typeName).sort();
    const files = [...services.map(({ file }) => file), ...further].flatMap(withImports);
    this.#files = new Map(files.map((file) => [file.proto.name, file]));
    this.#registry = createRegistry(...this.#files.values());
  }

  /** A file by its path, as `import` names it. */
  fileNamed(path: string): DescFile | undefined {
    return this.#files.get(path);
  }

  /** The file that declares this full name: a type, a service, or a part of one. */
  fileOfSymbol(name: string): DescFile | undefined {
    const type = this.#registry.get(name);
    if (type !== undefined) return type.file;
    const [, scope = "", part = ""] = /^(.*)\.(.*)$/.exec(name) ?? [];
    const whole = this.#registry.get(scope);
    if (whole !== undefined && whole.kind !== "enum" && partsOf(whole).includes(part)) return whole.file;
    // The values of an enum are in the scope around the enum, not in the enum.
    const enums = [...this.#registry].filter((each) => each.kind === "enum");
    return enums.find((each) => scopeOf(each) === scope && partsOf(each).includes(part))?.file;
  }

  /** The file that declares the extension of a message with this field number. */
  fileOfExtension(message: string, number: number): DescFile | undefined {
    const extendee = this.#registry.getMessage(message);
    return extendee && this.#registry.getExtensionFor(extendee, number)?.file;
  }

  /** The field numbers of all extensions of a message, ascending; undefined for an unknown message. */
  extensionNumbers(message: string): number[] | undefined {
    if (this.#registry.getMessage(message) === undefined) return undefined;
    const extensions = [...this.#registry].filter((each) => each.kind === "extension");
    const ofMessage = extensions.filter(({ extendee }) => extendee.typeName === message);
    return ofMessage.map(({ number }) => number).sort((a, b) => a - b);
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
}

/** The names of a type's parts, which have no descriptors of their own in a registry. */
function partsOf(type: DescMessage | DescEnum | DescExtension | DescService): string[] {
  switch (type.kind) {
    case "message":
      return [...type.fields, ...type.oneofs].map(({ name }) => name);
    case "enum":
      return type.values.map(({ name }) => name);
    case "service":
      return type.methods.map(({ name }) => name);
    default:
      return [];
  }
}

function scopeOf({ typeName }: DescEnum): string {
  return typeName.slice(0, Math.max(typeName.lastIndexOf("."), 0));
}

/** A file, then all its direct and indirect imports; each once, breadth first. */
export function withImports(file: DescFile): DescFile[] {
  const found = new Set([file]);
  // The set grows while it is walked.
  for (const { dependencies } of found) for (const each of dependencies) found.add(each);
  return [...found];
}
