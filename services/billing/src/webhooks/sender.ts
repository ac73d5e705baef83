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
 * Posts to addresses that customers configure. Does not follow redirects, reads only the status of
 * the response, and never throws.
 */
export interface WebhookSender {
  post(
    request: WebhookRequest,
  ): Promise<{ readonly status: number } | { readonly failure: 'timeout' | 'connection' | 'private_address' }>;
}

/** From the name lookup to the response headers. */
const TIMEOUT_MS = 10_000;
/** A response with larger headers is a failure. */
const HEADER_BYTES_MAX = 16 * 1024;

export interface WebhookSenderOptions {
  /**
   * Allows connections to private and loopback addresses. Otherwise they are refused, both as
   * literals and as results of a lookup.
   */
  readonly privateAllowed: boolean;
  /** Defaults to TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** Name resolver; defaults to the system's. */
  readonly lookup?: LookupFunction;
}

/**
 * Creates a sender that opens one connection per request and closes it after the status. Each
 * request looks up the name, checks the addresses, and connects only to the checked addresses. So a
 * name whose address changes after the check cannot bypass it. Redirects are not followed, and the
 * response body is not read.
 */
export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { privateAllowed, timeoutMs = TIMEOUT_MS, lookup = systemLookup } = options;
  return {
    async post({ url, headers, body }: WebhookRequest) {
      const { origin, hostname, pathname, search } = new URL(url);
      // A literal address in the URL is never looked up.
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
