/// <reference path="./undici-parts.d.ts" />
import { type RequestOptions, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import buildConnector from "undici/lib/core/connect.js";
import { withoutBrackets } from "../../../../sdk/src/contract/proxy-address.ts";
import { ProxyFailure, refusedByProxy } from "./connect-failures.ts";
import type { OutgoingProxy } from "./proxies.ts";

const HTTPS_PORT = "443";

interface TunnelOptions {
  /** How long all may take until the upstream is connected: the connection to the proxy, its answer and the handshakes of TLS together. */
  readonly timeoutMs: number;
  /** Looks up the proxy's host. The proxy looks up those of upstreams. */
  readonly lookup: LookupFunction;
  readonly proxy: OutgoingProxy;
}

/** Connects for undici to upstreams of `https:`, through tunnels of their proxy (CONNECT: RFC 9110, section 9.3.6). */
export function connectThroughProxy({ timeoutMs, lookup, proxy }: TunnelOptions): buildConnector.connector {
  const connectTls = buildConnector({ timeout: 0 });
  return (options, callback) => {
    const { hostname, port } = options;
    const authority = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port || HTTPS_PORT}`;
    const request = requestTunnel(proxy, authority, lookup);
    let close = () => void request.destroy();
    let isOver = false;
    const end: buildConnector.Callback = (...result) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      callback(...result);
    };
    const fail = (error: ProxyFailure) => {
      end(error, null);
      close();
    };
    const timer = setTimeout(
      () => fail(new ProxyFailure("the upstream could not be reached through the proxy in time")),
      timeoutMs,
    );
    request.on("error", (error) => fail(new ProxyFailure("the proxy could not be reached", error)));
    request.once("connect", ({ statusCode = 0 }, socket, head) => {
      close = () => void socket.destroy();
      // A connection that breaks has no error of its own, because TLS reads from it.
      socket.on("error", () => {});
      socket.once("close", () => fail(new ProxyFailure("the proxy broke off the connection")));
      // A server of TLS sends nothing before the client does.
      const isOpen = statusCode >= 200 && statusCode < 300 && head.length === 0;
      if (!isOpen) fail(refusedByProxy(statusCode));
      else if (!isOver) connectTls({ ...options, httpSocket: socket }, end);
    });
    request.end();
  };
}

function requestTunnel({ address, credential }: OutgoingProxy, authority: string, lookup: LookupFunction) {
  const isSecure = address.protocol === "https:";
  const options: RequestOptions = {
    method: "CONNECT",
    host: withoutBrackets(address.hostname),
    port: address.port || (isSecure ? HTTPS_PORT : "80"),
    path: authority,
    headers: ["host", authority, ...credential],
    agent: false,
    lookup,
  };
  return isSecure ? requestSecure(options) : requestPlain(options);
}
