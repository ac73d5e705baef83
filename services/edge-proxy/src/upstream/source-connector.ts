import { ADDRESS_ATTEMPT_MS, isPrivateHost, publicLookup } from '@gateway/service-kit';
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { goesThrough, proxyConnector, type UpstreamProxy } from './proxy-connector.js';

const CONNECT_TIMEOUT_MS = 10_000;
const TLS_SESSIONS_MAX = 100;

/** By which rules an edge connects to addresses that the catalog names. */
export interface ConnectionRules {
  /** Allows connections to private and loopback addresses, literal or looked up. */
  readonly privateAllowed: boolean;
  /** The resolver of names; the system's unless stated. */
  readonly lookup?: LookupFunction;
  /**
   * Providers are reached through it. It looks names up itself, and has to refuse private addresses
   * itself.
   */
  readonly proxy?: UpstreamProxy | null;
}

/**
 * The host where it is refused already as it is written: an address in a URL is never looked up.
 */
export function refusedHost(hostname: string, { privateAllowed }: ConnectionRules): string | null {
  return !privateAllowed && isPrivateHost(hostname) ? hostname : null;
}

/** Connects to one host by the rules. A name is judged only when it is looked up. */
export function connectorTo(
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
  return proxy !== null && goesThrough(proxy, hostname) ? proxyConnector(proxy, connect) : connect;
}
