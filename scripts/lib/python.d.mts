/** The Python that has grpcio and protobuf, Debian's own first; undefined if there is none. */
export function findPython(): string | undefined;
