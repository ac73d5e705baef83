import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { Client, buildConnector } from 'undici';
import { ADDRESS_ATTEMPT_MS, isPrivateHost, publicLookup } from '@gateway/service-kit';

const CONNECT_TIMEOUT_MS = 10_000;
const TLS_SESSIONS_MAX = 100;

/** The rules for connections to the addresses in the catalog. */
export interface ConnectionRules {
  /** Allows connections to private and loopback addresses, literal or resolved. */
  readonly privateAllowed: boolean;
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: LookupFunction;
  /**
   * The proxy to the providers, if one is configured. It resolves names and must reject private
   * addresses itself.
   */
  readonly proxy?: UpstreamProxy | null;
}

/** Returns the host if it is a private address literal, which is never resolved, or null. */
export function findPrivateHost(hostname: string, { privateAllowed }: ConnectionRules): string | null {
  return !privateAllowed && isPrivateHost(hostname) ? hostname : null;
}

/** Returns a connector to one host. The connector checks a name when it resolves it. */
export function makeConnector(
  hostname: string,
  { privateAllowed, lookup = systemLookup, proxy = null }: ConnectionRules,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    maxCachedSessions: TLS_SESSIONS_MAX,
    allowH2: false,
    noDelay: true,
    keepAlive: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    lookup: privateAllowed ? lookup : publicLookup(lookup),
  });
  return proxy !== null && usesProxy(proxy, hostname) ? proxyConnector(proxy, connect) : connect;
}

/** Timeout for opening a tunnel, the proxy's own connection to the provider included. */
const TUNNEL_TIMEOUT_MS = 10_000;
const HTTP_OK = 200;

/** The proxy between this deployment and its providers. */
export interface UpstreamProxy {
  /** `http:` or `https:`, with user and password if the proxy requires them. */
  readonly url: URL;
  /** Hosts reached without the proxy. A leading dot matches a domain and all its subdomains. */
  readonly exceptions: readonly string[];
}

/** Returns whether a provider's host is reached through the proxy. */
export function usesProxy(proxy: UpstreamProxy, hostname: string): boolean {
  const host = hostname.toLowerCase();
  return !proxy.exceptions.some((one) =>
    one.startsWith('.') ? host === one.slice(1) || host.endsWith(one) : host === one,
  );
}

/**
 * Connects to a provider through a CONNECT tunnel of the proxy, also if the provider has no TLS, so
 * the proxy never reads a request. Each connection opens a new tunnel. If the tunnel cannot be
 * opened, the source counts as unreachable.
 */
export function proxyConnector(proxy: UpstreamProxy, secure: buildConnector.connector): buildConnector.connector {
  const { origin } = proxy.url;
  const headers = proxyAuthorization(proxy.url);
  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    openTunnel(origin, `${options.hostname}:${options.port || (isSecure ? '443' : '80')}`, headers).then(
      (socket) => {
        if (isSecure) secure({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      (error: Error) => callback(toConnectError(error), null),
    );
  };
}

/** Changes errors with undici's codes, after which the client would reconnect without end. */
function toConnectError(error: Error): Error {
  const isOfClient = 'code' in error && String(error.code).startsWith('UND_ERR_');
  return isOfClient ? new Error(error.message, { cause: error }) : error;
}

async function openTunnel(origin: string, path: string, headers: Record<string, string>): Promise<Socket> {
  const client = new Client(origin, {
    connectTimeout: TUNNEL_TIMEOUT_MS,
    headersTimeout: TUNNEL_TIMEOUT_MS,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    allowH2: false,
  });
  try {
    const { statusCode, socket } = await client.connect({ path, headers: { ...headers, host: path } });
    if (statusCode === HTTP_OK) return socket as Socket;
    socket.on('error', () => undefined).destroy();
    throw new Error(`the proxy returned ${statusCode}`);
  } finally {
    // The tunnel's socket is already detached from the client, so this closes nothing else.
    void client.destroy();
  }
}

function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
