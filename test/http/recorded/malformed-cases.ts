// Heads and bodies that are not HTTP/1.1, or hardly.

const head = (first: string, ...lines: string[]) => `${[first, ...lines].join("\r\n")}\r\n\r\n`;
const host = "Host: stoa.example";
const get = "GET /api/v1/posts/1 HTTP/1.1";
const receipts = "/stoa.v1.LedgerService/StreamReceipts";
const post = "POST /api/v1/posts HTTP/1.1";

/** What is sent on a connection, by name. */
export const malformed: Readonly<Record<string, string>> = {
  "no HTTP": "hello\r\n\r\n",
  "HTTP/0.9": "GET /\r\n\r\n",
  "HTTP/1.0": head("GET /api/v1/posts/1 HTTP/1.0"),
  "gRPC by HTTP/1.0": head("POST /stoa.v1.PostService/GetPost HTTP/1.0", host, "Content-Type: application/grpc"),
  "a stream of gRPC by HTTP/1.0": head(`POST ${receipts} HTTP/1.0`, host, "Content-Type: application/grpc"),
  "gRPC-Web by HTTP/1.0, which need not name a host": head(
    `POST ${receipts} HTTP/1.0`,
    "Content-Type: application/grpc-web",
  ),
  "Connect by HTTP/1.0, which need not name a host": head(
    `POST ${receipts} HTTP/1.0`,
    "Content-Type: application/connect+json",
  ),
  "HTTP/1.2": head("GET / HTTP/1.2", host),
  "HTTP/3.0": head("GET / HTTP/3.0", host),
  "no host": head(get),
  "two hosts": head(get, host, "Host: other.example"),
  "an empty host": head(get, "Host:"),
  "a host with a space": head(get, "Host: a b"),
  "a header without a colon": head(get, host, "nothing"),
  "a header with a space in its name": head(get, host, "a b: c"),
  "a header with a control character": head(get, host, "a: \u0001"),
  "a folded header": head(get, host, "a: b", " c"),
  "a bare line feed": `${get}\n${host}\n\n`,
  "a method that does not exist": head("GOT / HTTP/1.1", host),
  "a method in lower case": head("get / HTTP/1.1", host),
  "a space in the target": head("GET /a b HTTP/1.1", host),
  "a target without a slash": head("GET api HTTP/1.1", host),
  "an absolute target": head("GET http://stoa.example/api/v1/posts/1 HTTP/1.1", host),
  "the target *": head("OPTIONS * HTTP/1.1", host),
  CONNECT: head("CONNECT stoa.example:443 HTTP/1.1", host),
  "an upgrade to h2c": head(
    get,
    host,
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAMAAABkAAQAAP__",
  ),
  "an upgrade to a web socket": head(get, host, "Connection: Upgrade", "Upgrade: websocket"),
  "a long header": head(get, host, `a: ${"x".repeat(20_000)}`),
  "many headers": head(get, host, ...Array.from({ length: 3_000 }, (_, index) => `a${index}: b`)),
  "a long target": head(`GET /api/v1/posts/1?a=${"x".repeat(20_000)} HTTP/1.1`, host),
  "a long target within the bound": head(`GET /api/v1/posts/1?a=${"x".repeat(7_000)} HTTP/1.1`, host),
  "a length that is no number": head(post, host, "Content-Length: x"),
  "a negative length": head(post, host, "Content-Length: -1"),
  "two lengths": head(post, host, "Content-Length: 1", "Content-Length: 2"),
  "a length and chunks": head(post, host, "Content-Length: 1", "Transfer-Encoding: chunked"),
  "an unknown transfer encoding": head(post, host, "Transfer-Encoding: gzip"),
  "a chunk without a size": `${head(post, host, "Transfer-Encoding: chunked")}x\r\n`,
  "a length beyond the bound, anonymous": head(post, host, "Content-Length: 262145"),
  "an expectation": `${head(post, host, "Expect: 100-continue", "Content-Length: 2")}{}`,
  "an unknown expectation": head(post, host, "Expect: nothing", "Content-Length: 2"),
  "a connection that is closed": head(get, host, "Connection: close"),
  "a connection that is kept": head(get, host, "Connection: keep-alive"),
  "a body after a GET": `${head(get, host, "Content-Length: 3")}abc`,
};
