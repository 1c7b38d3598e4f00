// autocannon comes without types. These are the parts that the bench uses.
declare module "autocannon" {
  interface Options {
    url: string;
    connections: number;
    /** In seconds. */
    duration: number;
    /** In milliseconds. */
    sampleInt: number;
    setupClient(client: { setRequests(requests: object[]): void }): void;
  }
  interface Run {
    stop(): void;
    on(event: "start", listener: () => void): void;
    on(
      event: "response",
      listener: (client: object, status: number, bytes: number, milliseconds: number) => void,
    ): void;
    on(event: "reqError", listener: (error: Error) => void): void;
  }
  export default function autocannon(options: Options, done: (error: Error | null) => void): Run;
}
