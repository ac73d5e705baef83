import { ADDRESS_ATTEMPT_MS, isPrivateHost, publicLookup } from '@gateway/service-kit';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { usesProxy, proxyConnector, type UpstreamProxy } from './proxy-connector.js';

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
