import autocannon from "autocannon";
import { type Load, Recorder, type Round } from "./recorder.ts";

/** REST and Connect over HTTP/1.1, with autocannon. Latencies come from its events: its own histogram has whole milliseconds. */
export async function loadHttp1({ url, seconds, requests, signal }: Load): Promise<Round> {
  const recorder = new Recorder();
  const done = Promise.withResolvers<void>();
  let next = 0;
  const run = autocannon(
    {
      url,
      connections: requests.length,
      duration: seconds + 5, // autocannon checks the time only once a second, so the bench ends it
      sampleInt: 20,
      setupClient: (client) => client.setRequests(requests[next++ % requests.length] as never[]),
    },
    (error) => (error ? done.reject(error) : done.resolve()),
  );
  let started = 0;
  let ended = 0;
  const stop = () => {
    ended ||= performance.now();
    run.stop();
  };
  run.on("start", () => {
    started = performance.now();
    setTimeout(stop, seconds * 1000);
  });
  run.on("response", (_client, status, _bytes, milliseconds) => {
    if (started === 0 || ended !== 0) return;
    if (status >= 200 && status < 300) recorder.succeeded(milliseconds);
    else recorder.failed(`HTTP status ${status}`);
  });
  run.on("reqError", (error) => recorder.failed(error.message));
  signal.addEventListener("abort", stop, { once: true });
  await done.promise.finally(() => signal.removeEventListener("abort", stop));
  signal.throwIfAborted();
  return recorder.result((ended - started) / 1000);
}
