import type { IncomingMessage, ServerResponse } from 'node:http';
import { ROOT_CONTEXT, type ContextManager, type HrTime } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { MetricProducer } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AlwaysOnSampler, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { collectMetrics } from './collect-metrics.js';
import { setTracing } from './tracing.js';

export interface TelemetryOptions {
  readonly service: string;
  readonly replica: string;
  readonly version: string;
  /** Base address of an OTLP/HTTP collector; traces go to its `/v1/traces`. Null: no tracing. */
  readonly otlpEndpoint: string | null;
}

export interface Telemetry {
  /** Responds to a request with all metrics as Prometheus text. */
  readonly metrics: (request: IncomingMessage, response: ServerResponse) => void;
  /** Sends buffered data within EXPORT_MS. An unreachable collector is not an error. */
  shutdown(): Promise<void>;
}

const EXPORT_MS = 5_000;
const QUEUED_SPANS_MAX = 4_096;
const BATCHED_SPANS_MAX = 512;
const BATCH_DELAY_MS = 2_000;
/**
 * Maximum exports at the same time: one that is in progress, and all full batches of the queue,
 * which a shutdown sends at once. The exporter drops batches above this number.
 */
const EXPORTS_MAX = QUEUED_SPANS_MAX / BATCHED_SPANS_MAX + 1;

/**
 * Starts OpenTelemetry for this process: metrics for a Prometheus reader always, traces over
 * OTLP/HTTP if an endpoint is set. There is no automatic instrumentation and no ambient context,
 * because both cost more per call than the call itself; spans get their parent as an argument. Call
 * it once per process.
 */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { service, replica, version } = options;
  const otlpEndpoint = isTracingDisabled() ? null : options.otlpEndpoint;
  const prometheus = new PrometheusExporter({
    preventServerStart: true,
    appendTimestamp: false,
    withoutScopeInfo: true,
    withoutTargetInfo: false,
    metricProducers: [registeredMetrics()],
  });
  const sdk = new NodeSDK({
    resource: resourceFromAttributes({
      'service.name': service,
      'service.namespace': 'gateway',
      'service.instance.id': replica,
      'service.version': version,
    }),
    autoDetectResources: false,
    contextManager: noAmbientContext,
    textMapPropagator: null,
    instrumentations: [],
    metricReaders: [prometheus],
    logRecordProcessors: [],
    sampler: new AlwaysOnSampler(),
    spanProcessors: otlpEndpoint === null ? [] : [spanBatches(otlpEndpoint)],
  });
  sdk.start();
  setTracing(otlpEndpoint !== null);
  return {
    metrics: (request, response) => prometheus.getMetricsRequestHandler(request, response),
    async shutdown() {
      setTracing(false);
      await sdk.shutdown().catch(() => undefined);
    },
  };
}

/**
 * Reads OTEL_SDK_DISABLED, which some clusters set for all programs, and disables tracing only. The
 * SDK would also disable the metrics, and thereby every alert, silently.
 */
function isTracingDisabled(): boolean {
  const isDisabled = process.env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
  delete process.env['OTEL_SDK_DISABLED'];
  return isDisabled;
}

function spanBatches(otlpEndpoint: string): BatchSpanProcessor {
  const url = `${otlpEndpoint.replace(/(?<!\/)\/+$/, '')}/v1/traces`;
  return new BatchSpanProcessor(
    new OTLPTraceExporter({ url, timeoutMillis: EXPORT_MS, concurrencyLimit: EXPORTS_MAX }),
    {
      maxQueueSize: QUEUED_SPANS_MAX,
      maxExportBatchSize: BATCHED_SPANS_MAX,
      scheduledDelayMillis: BATCH_DELAY_MS,
      exportTimeoutMillis: EXPORT_MS,
    },
  );
}

/** Passes the registered metrics to the reader at each collection. */
function registeredMetrics(): MetricProducer {
  const startTime = hrTime(Date.now());
  return {
    collect: () =>
      Promise.resolve({
        resourceMetrics: {
          resource: resourceFromAttributes({}),
          scopeMetrics: [{ scope: { name: 'gateway' }, metrics: collectMetrics(startTime, hrTime(Date.now())) }],
        },
        errors: [],
      }),
  };
}

function hrTime(ms: number): HrTime {
  return [Math.trunc(ms / 1_000), (ms % 1_000) * 1_000_000];
}

/**
 * Replaces the SDK's own manager, which enables async hooks for the whole process with the first
 * exported batch.
 */
const noAmbientContext: ContextManager = {
  active: () => ROOT_CONTEXT,
  with: (_context, work, self, ...rest) => work.call(self as never, ...rest),
  bind: (_context, target) => target,
  enable: () => noAmbientContext,
  disable: () => noAmbientContext,
};
