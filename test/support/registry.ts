import { create, createFileRegistry, type FileRegistry } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** A registry of these files, which may be in any order. */
export function registryOf(files: readonly FileDescriptorProto[]): FileRegistry {
  const byName = new Map(files.map((file) => [file.name, file]));
  const ordered = new Set<FileDescriptorProto>();
  // protobuf-es needs each file after the files that it imports.
  const add = (file: FileDescriptorProto) => {
    for (const name of file.dependency) {
      const imported = byName.get(name);
      if (imported !== undefined && !ordered.has(imported)) add(imported);
    }
    ordered.add(file);
  };
  files.forEach(add);
  return createFileRegistry(create(FileDescriptorSetSchema, { file: [...ordered] }));
}
