export { BASE_FIELDS, isLoopback, type ServiceConfig } from './config/base-fields.js';
export { runEvery as every, type Background } from './background.js';
export { BodyBuffer } from './http/body-buffer.js';
export { computeClientNetwork as clientNetwork } from './http/client-network.js';
export { systemClock, type Clock, type Timer, type TimerClock } from './clock.js';
export { COMMON_FIELDS, portField } from './config/common-fields.js';
export {
  ConfigurationError,
  describeConfig,
  printConfig,
  readConfig,
  type ConfigDescription,
  type ConfigField,
  type ConfigFields,
  type ConfigOf,
} from './config/config.js';
export { containerMemoryBytes, computeMemoryBound as memoryBound } from './telemetry/process-metrics.js';
export { CSV_LINE_END, csvCell, type CsvKind, type CsvValue } from './csv.js';
export { field } from './config/field.js';
export { groupBy } from './group-by.js';
export { EphemeralMap } from './ephemeral-map.js';
export { changeUrl, splitUrl as urlsOf } from './network-address.js';
export { closeServer, createHttpServer, hasValidHost, listen, type HttpBounds } from './http/http-server.js';
export { ClientPermits as PlacesByClient, type PlacesByClientOptions } from './http/places-by-client.js';
export { ClientRateLimit as RateByClient, type RateByClientOptions } from './http/rate-by-client.js';
export { Throttle, ThrottledLog } from './telemetry/throttled-log.js';
export { OnDemandTimer } from './on-demand-timer.js';
export { Secret, type Rotatable } from './secrets/secret.js';
export { createLogger, type Logger, type LoggerOptions, type LogLevel } from './telemetry/log.js';
export { nextDelayMs, pause, retry, withTimeout as within, type BackoffOptions, type RetryOptions } from './retry.js';
export { SingleFlight } from './single-flight.js';
export { ReadyChecks } from './http/ready-checks.js';
export { polledGauge } from './telemetry/polled-gauge.js';
export {
  counter,
  countSeriesMax,
  gauge,
  histogram,
  type GaugeOptions,
  type GaugeReading,
} from './telemetry/metrics.js';
export { type Counter, type Family, type Histogram, type LabelSet, type LabelsOf } from './telemetry/metric-cells.js';
export { startTelemetry, type Telemetry, type TelemetryOptions } from './telemetry/telemetry.js';
export { decideTrace, startSpan, LINKS_MAX, NO_SPAN, type Span } from './telemetry/tracing.js';
export { EXIT_CONFIGURATION, runAsCommand } from './run-as-command.js';
export { runService, type RunningService, type ServiceContext } from './run.js';
export { makePrivateKey } from './secrets/hpke.js';
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
} from './secrets/sealed-to-key.js';
export { ADDRESS_ATTEMPT_MS } from './dial.js';
export { isPrivateHost } from './network-address.js';
export { PrivateAddressError, publicLookup } from './http/public-lookup.js';
