export { BASE_FIELDS, isLoopback, type ServiceConfig } from './base-fields.js';
export { runEvery as every, type Background, type BackgroundOptions } from './background.js';
export { BodyBuffer } from './body-buffer.js';
export { computeClientNetwork as clientNetwork } from './client-network.js';
export { systemClock, type Clock, type Timer, type TimerClock } from './clock.js';
export { COMMON_FIELDS, portField } from './common-fields.js';
export {
  ConfigurationError,
  describeConfig,
  printConfig,
  readConfig,
  type ConfigDescription,
  type ConfigField,
  type ConfigFields,
  type ConfigOf,
} from './config.js';
export { containerMemoryBytes, computeMemoryBound as memoryBound } from './process-metrics.js';
export { CSV_LINE_END, csvCell, type CsvKind, type CsvValue } from './csv.js';
export { field } from './field.js';
export { groupBy } from './group-by.js';
export { EphemeralMap } from './ephemeral-map.js';
export { changeUrl, splitUrl as urlsOf } from './network-address.js';
export { closeServer, createHttpServer, hasValidHost, listen, type HttpBounds } from './http-server.js';
export { ClientPermits as PlacesByClient, type PlacesByClientOptions } from './places-by-client.js';
export { ClientRateLimit as RateByClient, type RateByClientOptions } from './rate-by-client.js';
export { Throttle, ThrottledLog, type ThrottleOptions } from './throttled-log.js';
export { OnDemandTimer } from './on-demand-timer.js';
export { Secret, type Rotatable } from './secret.js';
export { createLogger, type Logger, type LoggerOptions, type LogLevel } from './log.js';
export { nextDelayMs, pause, retry, withTimeout as within, type BackoffOptions, type RetryOptions } from './retry.js';
export { SingleFlight } from './single-flight.js';
export { ReadyChecks, type ReadyCheck, type ReadyReport } from './ready-checks.js';
export { polledGauge, type PolledGaugeOptions } from './polled-gauge.js';
export { counter, gauge, histogram, type GaugeOptions, type GaugeReading } from './metrics.js';
export { type Counter, type Family, type Histogram, type LabelSet, type LabelsOf } from './metric-cells.js';
export { startTelemetry, type Telemetry, type TelemetryOptions } from './telemetry.js';
export {
  decideTrace,
  startSpan,
  LINKS_MAX,
  NO_SPAN,
  type Span,
  type SpanOptions,
  type TraceDecision,
} from './tracing.js';
export { EXIT_CONFIGURATION, runAsCommand } from './run-as-command.js';
export { runService, type RunningService, type ServiceContext, type ServiceDefinition } from './run.js';
export { makePrivateKey } from './hpke.js';
export {
  hasKeyFor as hasKeyOf,
  SealError,
  hasSealedForm,
  isSealedToCurrent,
  openSealed,
  toPublicKey as publicHalfOf,
  resealTo,
  sealTo,
  type OpeningKeys,
} from './sealed-to-key.js';
export { ADDRESS_ATTEMPT_MS } from './dial.js';
export { isPrivateHost } from './network-address.js';
export { PrivateAddressError, publicLookup } from './public-lookup.js';
