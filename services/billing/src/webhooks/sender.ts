import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { ADDRESS_ATTEMPT_MS, isPrivateHost, PrivateAddressError, publicLookup } from '@gateway/service-kit';
import { Client } from 'undici';

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Posts to addresses that customers name. Follows nothing, reads no answer but its status, never
 * throws.
 */
export interface WebhookSender {
  post(
    request: WebhookRequest,
  ): Promise<{ readonly status: number } | { readonly failure: 'timeout' | 'connection' | 'private_address' }>;
}

/** From the lookup of the name to the head of the answer. */
const TIMEOUT_MS = 10_000;
/** A larger head is a failure. */
const HEADER_BYTES_MAX = 16 * 1024;

export interface WebhookSenderOptions {
  /**
   * Connections to private and loopback addresses are made. Otherwise they are refused, literal or
   * looked up.
   */
  readonly privateAllowed: boolean;
  /** TIMEOUT_MS when absent. */
  readonly timeoutMs?: number;
  /** The resolver of names; the system's unless stated. */
  readonly lookup?: LookupFunction;
}

/**
 * Each request has a connection of its own, closed when the status is known: the name is looked up
 * for every request, the addresses found are judged, and the socket connects to these and no
 * others. So a name that changes its address after it was checked gains nothing. Redirects are not
 * followed; the answer's body is not read.
 */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { privateAllowed, timeoutMs = TIMEOUT_MS, lookup = systemLookup } = options;
  return {
    async post({ url, headers, body }: WebhookRequest) {
      const { origin, hostname, pathname, search } = new URL(url);
      // An address that stands in the URL is never looked up.
      if (!privateAllowed && isPrivateHost(hostname)) return { failure: 'private_address' };
      const signal = AbortSignal.timeout(timeoutMs);
      const client = new Client(origin, {
        connect: {
          timeout: timeoutMs,
          lookup: privateAllowed ? lookup : publicLookup(lookup),
          autoSelectFamily: true,
          autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
          allowH2: false,
        },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        maxHeaderSize: HEADER_BYTES_MAX,
        pipelining: 0,
        allowH2: false,
      });
      try {
        const answer = await client.request({ method: 'POST', path: pathname + search, headers, body, signal });
        answer.body.on('error', () => undefined);
        return { status: answer.statusCode };
      } catch (error) {
        if (error instanceof PrivateAddressError) return { failure: 'private_address' };
        return { failure: signal.aborted ? 'timeout' : 'connection' };
      } finally {
        await client.destroy();
      }
    },
  };
}
