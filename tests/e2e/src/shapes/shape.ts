import type { PriceClass } from '@gateway/contracts/operator';
import type { TokenKind } from './shape-prices.js';

/** A recorded provider response, as services/edge-proxy/test/recorded-shapes.ts reads it. */
export interface Shape {
  readonly name: string;
  readonly endpoint: string;
  readonly kind: 'plain' | 'stream' | 'error';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Request fields in addition to the minimal request of the endpoint. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly requestHeaders: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly isStream: boolean;
  readonly expected: ExpectedOfShape;
}

export interface ExpectedOfShape {
  /** Input tokens without cache reads and cache writes. */
  readonly input?: number | null;
  readonly cachedInput?: number | null;
  readonly cacheWrite?: number | null;
  readonly cacheWrite1h?: number | null;
  /** Absent if the response does not report its usage. The gateway then estimates the charge. */
  readonly output?: number | null;
  readonly class?: PriceClass | string;
  readonly units?: Readonly<Record<string, number>>;
  readonly kinds?: Partial<Readonly<Record<TokenKind, number>>>;
  readonly errorClass?: string | null;
  /** The wait that the provider requests in a header or in its message. */
  readonly retryAfterMs?: number | null;
  /** The response has status 200 but is not usable. */
  readonly unusable?: boolean;
  /** Status and code if the gateway refuses the request. Then no source is queried. */
  readonly refused?: string;
  /**
   * Whether the client receives the stream including its error, because it had begun or the error
   * is final.
   */
  readonly begun?: boolean;
  /** Whether the gateway's message contains the provider's words, because tools search for them. */
  readonly repeats?: boolean;
  /** The status that an error inside a response reports. */
  readonly saidStatus?: number;
  readonly names?: string;
  /**
   * Whether no client request can cause this error, regardless of the model that the message names.
   */
  readonly certain?: boolean;
}
