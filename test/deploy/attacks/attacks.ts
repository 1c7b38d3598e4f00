import { handshakes, silentConnections, slowBodies, slowHeads } from "./connections.ts";
import { cancelledCalls, endlessHeads, rapidResets, smallWindows } from "./http2.ts";
import { headerFlood, requestFlood, unreadReplies } from "./requests.ts";
import type { Attack } from "./target.ts";

/** Some 1,900 connections of different kinds. The bare service is not asked to serve others meanwhile. */
const together: Attack = async (target) => {
  await Promise.all([slowHeads, slowBodies, unreadReplies, smallWindows].map((attack) => attack(target)));
};

/** All attacks, by the names of the tests. */
export const attacks: Readonly<Record<string, Attack>> = {
  "connections that say nothing": silentConnections,
  "slow heads": slowHeads,
  "slow bodies": slowBodies,
  "a flood of requests from many addresses": requestFlood,
  "rapid resets over HTTP/2": rapidResets,
  "calls that are cancelled": cancelledCalls,
  "streams with small windows": smallWindows,
  "replies that nobody reads": unreadReplies,
  "floods of header fields": headerFlood,
  "endless heads over HTTP/2": endlessHeads,
  "a flood of TLS handshakes": handshakes,
  "several attacks together": together,
};
