import { randomBytes } from 'node:crypto';
import type { AccountView, ModelView, SourceView } from '@gateway/contracts/operator';
import { readMail } from '../read-mail.js';
import { DEMO_MODELS, DEMO_PROVIDERS, demoSource } from './demo-catalog.js';

export const DEMO_EMAIL = 'demo@example.com';
const DEMO_CREDIT_USD = '25.00';
const DEMO_PASSWORD_BYTES = 12;
/** The simulated provider accepts any key. */
const DEMO_PROVIDER_KEY = 'sim-0123456789';
const REQUEST_MS_MAX = 60_000;
const MAIL_MS_MAX = 30_000;
const MAIL_POLL_MS = 50;

/** A running system with addresses as this process reaches them. */
export interface DemoSystem {
  readonly dashboardUrl: string;
  /** With `/operator/v1`. */
  readonly operatorUrl: string;
  readonly operatorToken: string;
  /** Both listeners of the simulated provider, as the edges reach them. */
  readonly providerUrls: readonly string[];
  /** Returns all emails of the system, oldest first. */
  mails(): Promise<string[]>;
}

/** The parts of the demo data that no request returns again. Null: not created yet. */
export interface DemoState {
  readonly apiKey: string | null;
  /** Password of {@link DEMO_EMAIL} in the dashboard. */
  readonly password: string | null;
  /** Addresses in the demo's sources. */
  readonly providerUrls: readonly string[] | null;
}

/**
 * Sends a request to the operator API. Resolves with null if a GET finds nothing, and rejects for
 * any other response that is not 2xx.
 */
export type OperatorRequest = <T>(method: string, path: string, body?: object) => Promise<T>;

export function createOperatorRequest(system: Pick<DemoSystem, 'operatorUrl' | 'operatorToken'>): OperatorRequest {
  const headers = { authorization: `Bearer ${system.operatorToken}`, 'content-type': 'application/json' };
  return async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(system.operatorUrl + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    });
    const text = await response.text();
    if (response.status === 404 && method === 'GET') return null as T;
    if (!response.ok) throw new Error(`${method} ${path} failed with status ${response.status}: ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  };
}

/**
 * Fills an empty system with a catalog, an account, credit and a key. `save` stores the state
 * before it is needed again, so that an interrupted run can be repeated. Leaves a system with
 * accounts of others unchanged, except that the demo's sources follow the simulated provider.
 * @returns the state, equal to `stored` if nothing was created
 */
export async function seedDemo(
  system: DemoSystem,
  stored: DemoState,
  save: (state: DemoState) => void,
): Promise<DemoState> {
  const operator = createOperatorRequest(system);
  const isEmpty = (await listAccounts(operator)).length === 0;
  if (!isEmpty && stored.apiKey !== null) return updateSourceAddresses(operator, system, stored, save);
  if (!isEmpty && stored.password === null) return stored;
  const password = (isEmpty ? null : stored.password) ?? randomBytes(DEMO_PASSWORD_BYTES).toString('base64url');
  save({ apiKey: null, password, providerUrls: null });
  await operator('POST', '/apply', { objects: catalogObjects(system) });
  const canSignIn = !isEmpty && (await sendToPages(system, '/sign-in', { email: DEMO_EMAIL, password })).ok;
  if (!canSignIn) await signUp(system, password);
  const apiKey = await fundAccount(operator);
  const state = { apiKey, password, providerUrls: system.providerUrls };
  save(state);
  return state;
}

async function listAccounts(operator: OperatorRequest): Promise<AccountView[]> {
  return (await operator<{ data: AccountView[] }>('GET', '/accounts?limit=20')).data;
}

function catalogObjects(system: DemoSystem): object[] {
  return [
    ...DEMO_PROVIDERS.map((provider) => ({ kind: 'provider', ...provider })),
    ...DEMO_MODELS.map(({ id, spec }) => ({ kind: 'model', id, spec })),
    ...demoSources(system).map(({ id, spec }) => ({
      kind: 'source',
      id,
      spec: { ...spec, credential: DEMO_PROVIDER_KEY },
    })),
  ];
}

/**
 * Updates the demo's sources if the simulator's addresses have changed. Leaves out sources that an
 * operator deleted or changed.
 */
async function updateSourceAddresses(
  operator: OperatorRequest,
  system: DemoSystem,
  stored: DemoState,
  save: (state: DemoState) => void,
): Promise<DemoState> {
  const { providerUrls } = system;
  const last = stored.providerUrls ?? [];
  if (providerUrls.every((url, index) => url === last[index])) return stored;
  for (const { id, spec } of demoSources(system)) {
    const source = await operator<SourceView | null>('GET', `/sources/${id}`);
    if (source !== null && last.includes(source.baseUrl)) await operator('PUT', `/sources/${id}`, spec);
  }
  const state = { ...stored, providerUrls };
  save(state);
  return state;
}

/** Returns the first usable demo model with a source at a running simulator; null if none is. */
export async function findDemoModel(
  operator: OperatorRequest,
  system: Pick<DemoSystem, 'providerUrls'>,
): Promise<string | null> {
  const sources = demoSources(system);
  for (const { id } of DEMO_MODELS) {
    const found = await operator<ModelView | null>('GET', `/models/${encodeURIComponent(id)}`);
    if (found === null) continue;
    const { kind, active, available, prices } = found;
    if (kind !== 'chat' || !active || !available || prices === null) continue;
    for (const own of sources.filter(({ spec }) => spec.modelId === id)) {
      const source = await operator<SourceView | null>('GET', `/sources/${own.id}`);
      if (source === null || !source.enabled || !source.hasCredential) continue;
      if (system.providerUrls.includes(source.baseUrl)) return id;
    }
  }
  return null;
}

function demoSources({ providerUrls }: Pick<DemoSystem, 'providerUrls'>) {
  return DEMO_MODELS.flatMap((model) =>
    ([0, 1] as const).slice(0, model.sources).map((listener) => ({
      id: `${model.id.replace(/[^A-Za-z0-9.-]/g, '-')}-${listener === 0 ? 'a' : 'b'}`,
      spec: demoSource(model, listener, providerUrls[listener] ?? ''),
    })),
  );
}

/** Signs the demo user up like any user and opens the link in the email. */
async function signUp(system: DemoSystem, password: string): Promise<void> {
  const send = async (path: string, body: object) => {
    const { ok, status } = await sendToPages(system, path, body);
    if (!ok) throw new Error(`the demo's ${path} failed with status ${status}`);
  };
  await send('/sign-up', { name: 'Demo', email: DEMO_EMAIL });
  await send('/verify-email', { token: await verifyingToken(system), password });
}

function sendToPages({ dashboardUrl }: DemoSystem, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${dashboardUrl}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Returns the token of the link in the newest email to the demo user. */
async function verifyingToken({ mails }: DemoSystem): Promise<string> {
  const until = performance.now() + MAIL_MS_MAX;
  while (performance.now() < until) {
    const all = await Promise.all((await mails()).map(readMail));
    const own = all.filter(({ to }) => to === DEMO_EMAIL);
    const token = own.flatMap(({ text }) => /\/verify#token=([\w-]{43})/.exec(text)?.[1] ?? []).at(-1);
    if (token !== undefined) return token;
    await new Promise((resolve) => setTimeout(resolve, MAIL_POLL_MS));
  }
  throw new Error(`no email to ${DEMO_EMAIL} arrived within ${MAIL_MS_MAX} ms`);
}

/** Credits the demo account once and returns a new API key for it. */
async function fundAccount(operator: OperatorRequest): Promise<string> {
  const account = (await listAccounts(operator)).find(({ email }) => email === DEMO_EMAIL);
  if (account === undefined) throw new Error('the demo account is missing');
  await operator('POST', `/accounts/${account.id}/wallet/entries`, {
    amountUsd: DEMO_CREDIT_USD,
    kind: 'credit',
    reason: 'Demo credit',
    reference: `demo-credit-${account.id}`,
  });
  const { secret } = await operator<{ secret: string }>('POST', `/accounts/${account.id}/keys`, { name: 'Demo key' });
  return secret;
}
