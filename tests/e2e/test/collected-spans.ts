import got from 'got';
import type { SharedSystem } from './system.js';

/** A span as the test collector stores it. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** OTLP numbers: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly events: readonly unknown[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Returns all spans received so far, of all traces. */
export function fetchSpans({ collectorUrl }: Pick<SharedSystem, 'collectorUrl'>): Promise<CollectedSpan[]> {
  return got(`${collectorUrl}/spans`, { timeout: { request: 10_000 } }).json<CollectedSpan[]>();
}
