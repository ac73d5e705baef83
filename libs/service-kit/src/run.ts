import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { startAdmin } from './http/admin.js';
import { BASE_FIELDS, type ServiceConfig, testControlProblems } from './config/base-fields.js';
import { systemClock, type TimerClock } from './clock.js';
import { type ConfigFields, ConfigurationError, printConfig, readConfig } from './config/config.js';
import { type Logger, createLogger } from './telemetry/log.js';
import { startProcessMetrics } from './telemetry/process-metrics.js';
import { ReadyChecks } from './http/ready-checks.js';
import { withTimeout } from './retry.js';
import { EXIT_CONFIGURATION } from './run-as-command.js';
import { type StopSignal, awaitStopSignal } from './stop-signal.js';
import { startTelemetry } from './telemetry/telemetry.js';

export interface ServiceContext<S extends ConfigFields> {
  readonly config: ServiceConfig<S>;
  readonly log: Logger;
  readonly clock: TimerClock;
  readonly replica: string;
  readonly ready: ReadyChecks;
  /** Aborted by the first SIGTERM or SIGINT, so that a waiting start can end. */
  readonly stopping: AbortSignal;
}

export interface RunningService {
  /** Finishes accepted work, then closes everything that `start` opened. Called once. */
  stop(): Promise<void>;
}

export interface ServiceDefinition<S extends ConfigFields> {
  readonly name: string;
  /** Default: the version of the release, which all packages share. */
  readonly version?: string;
  readonly fields: S;
  /**
   * Returns problems between fields as texts that begin with the name of a variable. They are
   * reported like problems of one field.
   */
  check?(config: ServiceConfig<S>): readonly string[];
  /** Timeout of `stop()` in milliseconds. Default: STOP_MS. */
  stopMs?(config: ServiceConfig<S>): number;
  /** Opens everything and resolves when the service accepts work. A rejection ends the process. */
  start(context: ServiceContext<S>): Promise<RunningService>;
}

const EXIT_OK = 0;
const EXIT_FAULT = 1;
const STOP_MS = 10_000;
const REPLICA_BYTES = 4;

/**
 * Runs a service process. Configuration, log, telemetry and the admin address come first, so that
 * probes get a response during `start`. Then follow `start` and ready. SIGTERM or SIGINT: not ready
 * at once, `stop()` within its timeout, telemetry sent, exit 0. A wrong configuration: one text on
 * standard error, exit 78. A rejected start, an overdue stop, an uncaught exception or an unhandled
 * rejection: one log line, exit 1.
 */
export async function runService<S extends ConfigFields>(definition: ServiceDefinition<S>): Promise<void> {
  const config = readOrExit(definition);
  const replica = config.GATEWAY_REPLICA ?? randomBytes(REPLICA_BYTES).toString('hex');
  const log = createLogger({ service: definition.name, replica, level: config.GATEWAY_LOG_LEVEL });
  exitOnFaults(log);
  const signal = awaitStopSignal();
  const telemetry = startTelemetry({
    service: definition.name,
    replica,
    version: definition.version ?? releaseVersion(),
    otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
  });
  const stopProcessMetrics = startProcessMetrics();

  let phase: 'starting' | 'running' = 'starting';
  const ready = new ReadyChecks();
  ready.add('process', () => (signal.received ? 'stopping' : phase === 'running' || phase));
  const admin = await startAdmin({
    host: config.GATEWAY_ADMIN_HOST,
    port: config.GATEWAY_ADMIN_PORT,
    ready,
    metrics: telemetry.metrics,
  }).catch((err: unknown) => exitWith(log, { err }, 'the admin address cannot be opened'));

  const timeoutMs = (ms: number): number => Math.max(ms, config.GATEWAY_TIMEOUT_MIN_MS);
  const clock: TimerClock = { ...systemClock, timeoutMs };
  const context = { config, log, clock, replica, ready, stopping: signal.aborted };
  const running = await startOrExit(definition, context, signal);
  phase = 'running';
  const facts = printConfig({ ...BASE_FIELDS, ...definition.fields }, config);
  log.info({ adminUrl: admin.url, pid: process.pid, config: facts }, 'started');

  const name = await signal.first;
  log.info({ signal: name }, 'stopping');
  await stopOrExit(running, definition.stopMs?.(config) ?? STOP_MS, log);
  stopProcessMetrics();
  await Promise.all([admin.stop(), telemetry.shutdown()]);
  log.info({}, 'stopped');
  process.exit(EXIT_OK);
}

function releaseVersion(): string {
  const facts = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return facts.version;
}

function readOrExit<S extends ConfigFields>(definition: ServiceDefinition<S>): ServiceConfig<S> {
  try {
    const config = readConfig({ ...BASE_FIELDS, ...definition.fields }, process.env) as ServiceConfig<S>;
    const problems = [...testControlProblems(config), ...(definition.check?.(config) ?? [])];
    if (problems.length > 0) throw new ConfigurationError(problems);
    return config;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`${definition.name}: ${error.message}\n`);
    process.exit(EXIT_CONFIGURATION);
  }
}

function exitOnFaults(log: Logger): void {
  process.on('uncaughtException', (err) => exitWith(log, { err }, 'uncaught exception'));
  process.on('unhandledRejection', (err) => exitWith(log, { err }, 'unhandled rejection'));
}

/**
 * If a signal interrupts a start that does not end within STOP_MS, the process exits without it: it
 * has accepted no work.
 */
async function startOrExit<S extends ConfigFields>(
  definition: ServiceDefinition<S>,
  context: ServiceContext<S>,
  signal: StopSignal,
): Promise<RunningService> {
  const { log } = context;
  const overdue = signal.first.then(async () => {
    await withTimeout(new Promise<never>(() => undefined), STOP_MS).catch(() => undefined);
    return null;
  });
  try {
    const running = await Promise.race([definition.start(context), overdue]);
    if (running) return running;
    log.warn({}, 'stopped before the start was complete');
    return process.exit(EXIT_OK);
  } catch (err) {
    if (!signal.received) return exitWith(log, { err }, 'start failed');
    log.info({ err }, 'start aborted');
    return process.exit(EXIT_OK);
  }
}

async function stopOrExit(running: RunningService, stopMs: number, log: Logger): Promise<void> {
  try {
    await withTimeout(running.stop(), stopMs);
  } catch (err) {
    exitWith(log, { err, stopMs }, 'stop failed');
  }
}

function exitWith(log: Logger, facts: object, text: string): never {
  log.error(facts, text);
  process.exit(EXIT_FAULT);
}
