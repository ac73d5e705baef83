import type { PriceClass } from '@gateway/contracts/operator';
import type { TokenKind } from './shape-prices.js';

/** A recorded answer of a provider, as services/edge-proxy/test/recorded-shapes.ts reads it. */
export interface Shape {
  readonly name: string;
  readonly endpoint: string;
  readonly kind: 'plain' | 'stream' | 'error';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What its request asks beside the least that its endpoint needs. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly requestHeaders: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly isStream: boolean;
  readonly expected: ExpectedOfShape;
}

/** What a fixture says of its answer. */
export interface ExpectedOfShape {
  /** Input that is neither read from a cache nor written to one. */
  readonly input?: number | null;
  readonly cachedInput?: number | null;
  readonly cacheWrite?: number | null;
  readonly cacheWrite1h?: number | null;
  /** Absent: the answer does not report its use, and the call is estimated. */
  readonly output?: number | null;
  /** As it is billed. */
  readonly class?: PriceClass | string;
  readonly units?: Readonly<Record<string, number>>;
  readonly kinds?: Partial<Readonly<Record<TokenKind, number>>>;
  readonly errorClass?: string | null;
  /** The wait that the provider tells, by a header or in its text. */
  readonly retryAfterMs?: number | null;
  /** It has status 200 and is no answer. */
  readonly unusable?: boolean;
  /** Status and code with which the gateway refuses its request: no source is asked. */
  readonly refused?: string;
  /** A stream goes to the client with the error in it: it had begun, or the error is final. */
  readonly begun?: boolean;
  /** Our text for the client has the words that tools look for, which are those of the provider. */
  readonly repeats?: boolean;
  /** The status that an error inside an answer says that it has. */
  readonly saidStatus?: number;
  /** The model that its text names. */
  readonly names?: string;
  /** Nothing that a client sends can have made the provider say so, whatever it names. */
  readonly certain?: boolean;
}
