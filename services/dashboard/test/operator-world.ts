import { BusFault } from '@gateway/bus';
import { MESSAGES, type ServiceName } from '@gateway/contracts/messages';
import type { OperatorErrorCode } from '@gateway/contracts/operator';
import { ReadyChecks, Secret, publicHalfOf, type OpeningKeys } from '@gateway/service-kit';
import { recordingLog, startTestBus, until, type OwnServer, type RecordingLog, type TestBus } from '@gateway/testkit';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { TokenAttempts } from '../src/operator-api/token-attempts.js';
import { startDashboard, type DashboardOptions, type RunningDashboard } from '../src/service.js';

export const ROOT_TOKEN = 'root-token-for-tests-0123456789abcdef';
export const OLD_ROOT_TOKEN = 'old-root-token-for-tests-0123456789abc';
export const PEPPER = 'pepper-for-tests-0123456789abcdef0123';
export const OLD_PEPPER = 'old-pepper-for-tests-0123456789abcdef';
const pairOf = (fill: number) => ({ current: new Secret(Buffer.alloc(32, fill)), previous: null });
/** The private keys for the public keys of the tested dashboard. */
export const SOURCE_KEYS: OpeningKeys = { privateKey: pairOf(7) };
export const WEBHOOK_KEYS: OpeningKeys = { privateKey: pairOf(8) };

/** Configuration of the pages; tests of the operator API leave it unchanged. */
export const PAGES_CONFIG = {
  GATEWAY_DASHBOARD_LISTENERS: 'both' as 'both' | 'pages' | 'operator',
  GATEWAY_DASHBOARD_HOST: '127.0.0.1',
  GATEWAY_DASHBOARD_PORT: 0,
  GATEWAY_DASHBOARD_URL: 'http://127.0.0.1:8081',
  GATEWAY_DASHBOARD_OPERATORS: true,
  GATEWAY_DASHBOARD_PROXIES: 0,
  GATEWAY_PUBLIC_URL: 'http://127.0.0.1:8080',
  GATEWAY_EDGE_URL: null as string | null,
  GATEWAY_SIGN_UP_ENABLED: true,
  GATEWAY_TEAMS_ENABLED: true,
  GATEWAY_MESSAGES_ENABLED: true,
  GATEWAY_SESSION_SECRET: {
    current: new Secret('session-secret-for-tests-0123456789'),
    previous: null as Secret | null,
  },
};

type Script = (body: never) => unknown;

export interface Asked {
  readonly name: string;
  readonly body: Record<string, unknown>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface SendOptions {
  /** Null: no Authorization header. Default: the root token. */
  readonly token?: string | null;
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** The operator API on a real bus, with scripted services behind it. */
export interface OperatorWorld {
  readonly dashboard: RunningDashboard;
  readonly bus: TestBus;
  readonly log: RecordingLog;
  readonly ready: ReadyChecks;
  /** Requests to the services, in order. */
  readonly asked: Asked[];
  /** Entries that the dashboard wrote to the audit log, in order. */
  readonly noted: Record<string, unknown>[];
  readonly env: Record<string, string>;
  /** Sets the response to later requests of a message. */
  scriptByName(name: string, answer: (body: unknown) => unknown): void;
  refuseByName(name: string, code: OperatorErrorCode): void;
  /** Stops responses of a service. */
  away(service: ServiceName): void;
  /** Removes scripts and recorded requests; all services respond again. */
  reset(): void;
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  stop(): Promise<void>;
}

/** Without limits, because tests send many wrong tokens from one address. */
const UNBOUNDED: TokenAttempts = {
  mayTry: () => true,
  mayAsk: () => true,
  wasRight: () => undefined,
  wasWrong: () => undefined,
};

export interface WorldOptions extends OwnServer {
  readonly config?: Partial<typeof PAGES_CONFIG>;
  readonly options?: Omit<DashboardOptions, 'env'>;
  readonly nowMs?: () => number;
}

export async function startOperatorWorld(
  answering: readonly ServiceName[] = ['accounts', 'billing', 'catalog', 'admission', 'edge-proxy'],
  { config = {}, options = {}, nowMs = Date.now, own }: WorldOptions = {},
): Promise<OperatorWorld> {
  const bus = await startTestBus({ own });
  const log = recordingLog();
  const ready = new ReadyChecks();
  const scripts = new Map<string, Script>();
  const asked: Asked[] = [];
  const noted: Record<string, unknown>[] = [];
  const away = new Set<string>();
  const env: Record<string, string> = {};
  for (const service of answering) {
    const connection = await bus.connect(service);
    for (const message of MESSAGES) {
      if (message.kind !== 'request' || !message.servedBy.includes(service)) continue;
      if (!message.sentBy.includes('dashboard')) continue;
      connection.serve(message, async (body) => {
        if (away.has(service)) throw new BusFault('disconnected', `${service} is away`);
        if (message.name === 'accounts.record-access') {
          noted.push(...(body as { entries: Record<string, unknown>[] }).entries);
          return { recorded: true } as never;
        }
        asked.push({ name: message.name, body: body as Record<string, unknown> });
        const script = scripts.get(message.name);
        if (script === undefined) throw new Error(`${message.name} was asked, and has no script`);
        return (await script(body as never)) as never;
      });
    }
  }
  const dashboard = await startDashboard(
    {
      config: {
        ...PAGES_CONFIG,
        ...config,
        GATEWAY_OPERATOR_HOST: '127.0.0.1',
        GATEWAY_OPERATOR_PORT: 0,
        GATEWAY_NATS_URL: new Secret(bus.urlFor('dashboard')),
        GATEWAY_KEY_PREFIXES: ['new_live_', 'mgw_live_'],
        GATEWAY_KEY_PEPPER: { current: new Secret(PEPPER), previous: new Secret(OLD_PEPPER) },
        GATEWAY_SOURCE_PUBLIC_KEY: publicHalfOf(SOURCE_KEYS.privateKey.current),
        GATEWAY_WEBHOOK_PUBLIC_KEY: publicHalfOf(WEBHOOK_KEYS.privateKey.current),
        GATEWAY_OPERATOR_TOKEN: { current: new Secret(ROOT_TOKEN), previous: new Secret(OLD_ROOT_TOKEN) },
        GATEWAY_CREDENTIAL_ENV: ['PROVIDER_*', 'UPSTREAM_KEY', 'CANARY_MISSING'],
        GATEWAY_LOG_LEVEL: 'info',
        GATEWAY_ADMIN_HOST: '127.0.0.1',
        GATEWAY_ADMIN_PORT: 0,
        GATEWAY_REPLICA: 'd0',
        GATEWAY_TEST_CONTROLS: false,
        GATEWAY_TIMEOUT_MIN_MS: 0,
        GATEWAY_TRACE_RATIO: 0,
        OTEL_EXPORTER_OTLP_ENDPOINT: null,
      },
      log,
      clock: { ...bus.clock, nowMs },
      replica: 'd0',
      ready,
      stopping: new AbortController().signal,
    },
    { env, tokenAttempts: UNBOUNDED, ...options },
  );
  return {
    dashboard,
    bus,
    log,
    ready,
    asked,
    noted,
    env,
    scriptByName: (name, answer) => void scripts.set(name, answer as Script),
    refuseByName: (name, code) =>
      void scripts.set(name, () => ({ refused: { code, message: `scripted ${code}`, param: null } })),
    away: (service) => void away.add(service),
    reset() {
      scripts.clear();
      asked.length = 0;
      noted.length = 0;
      away.clear();
    },
    send: (method, path, options) => send(`${dashboard.operatorUrl}/operator/v1${path}`, method, options),
    async stop() {
      await dashboard.stop();
      await bus.stop();
    },
  };
}

/** Sends an HTTP request and parses the response as JSON. */
export async function send(url: string, method: string, options: SendOptions = {}): Promise<Answer> {
  const { token = ROOT_TOKEN, body, headers = {} } = options;
  const raw = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(raw === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(raw === undefined ? {} : { body: raw as string }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    // A file has no JSON fields.
    body: isJson && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}

/** Sends an HTTP request whose body arrives in two parts; `between` runs before the second one. */
export async function sendInPieces(
  dashboard: Pick<RunningDashboard, 'bodyBytesHeld'>,
  url: string,
  { method = 'POST', body, headers }: { method?: string; body: object; headers: Record<string, string> },
  between: () => void,
): Promise<Pick<Answer, 'status' | 'body'>> {
  const sent = JSON.stringify(body);
  const length = String(Buffer.byteLength(sent));
  const asked = request(url, {
    method,
    headers: { 'content-type': 'application/json', 'content-length': length, ...headers },
  });
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
  asked.write(sent.slice(0, 1));
  await until('the rest of the body is awaited', () => dashboard.bodyBytesHeld() > 0);
  between();
  asked.end(sent.slice(1));
  const [response] = await answered;
  return { status: response.statusCode ?? 0, body: JSON.parse(await textOf(response)) as Record<string, unknown> };
}

export function errorOf(answer: Pick<Answer, 'body'>): {
  code: string;
  message: string;
  param: string | null;
  request_id: string;
} {
  return answer.body['error'] as never;
}
