// The transcoding between REST and Protobuf: JSON and URLs to messages, and messages to JSON. It needs the contract's
// descriptors, but no web framework. These are its public functions; the other files are internal. Faults of the input are
// thrown as `StoaError` with the code `bad_json`, `bad_input` or `not_found`.

/** Reads a message from parsed JSON and texts of a URL. */
export { decodeMessage } from "./decode.ts";
/** Makes the functions that encode messages as values for `JSON.stringify`. */
export { encoderOf, type JsonOutput } from "./encode.ts";
/** Tells callers what their input holds without any effect. */
export { addUnknownMembers, IgnoredInput, maxWarnings } from "./ignored-input.ts";
/** What `decodeMessage` reads from. */
export { type Input, UrlText } from "./input.ts";
/** Parses JSON strictly and exactly. */
export { JsonNumber, JsonSyntaxError, type JsonValue, parseJson } from "./json.ts";
/** Encodes large replies with little garbage; `largeLength` says which replies those are. */
export { encodeInParts, largeLength } from "./large-json.ts";
/** Reads the message of a REST request; tells which fields a query or Last-Event-ID can set. */
export {
  isQueryField,
  type ReadRequest,
  type RequestParts,
  readRequest,
  resumingField,
} from "./request.ts";
/** Splits URLs, and reads a message from the fields of one. */
export { decodeQuery, type QueryParameter, readUrlFields, splitTarget, type UrlFields } from "./url-fields.ts";
/** Which messages have a JSON form of their own, for descriptions of the API. */
export { hasProtoJsonForm, isStruct, isTimestamp, wrappedScalar } from "./well-known.ts";
