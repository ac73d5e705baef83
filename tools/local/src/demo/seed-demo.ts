import { randomBytes } from 'node:crypto';
import { type Bus, connectBus } from '@gateway/bus';
import { DEFAULT_KEY_PREFIX, digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import {
  accountsCreateKey,
  accountsListAccounts,
  billingAddWalletEntry,
  catalogApply,
  catalogGetModel,
  catalogGetSource,
  catalogPutSource,
} from '@gateway/contracts/messages';
import { type Mailbox, readMail } from '@gateway/mailbox';
import { Secret, publicHalfOf, sealTo } from '@gateway/service-kit';
import type { LocalSystem } from '../start-system.js';
import { saveSecrets } from '../secrets.js';
import { DEMO_MODELS, DEMO_PROVIDERS, demoSource } from './demo-catalog.js';

/** The author of demo data, which is written over the bus instead of by HTTP requests. */
const AUTHOR = {
  actor: 'local-start',
  origin: { client: '127.0.0.1', agent: 'local-start', requestId: 'local-start' },
} as const;
const SEEDER = 'seeder';
const DEMO_CREDIT_USD = '25.00';
export const DEMO_EMAIL = 'demo@example.com';
const DEMO_PASSWORD_BYTES = 12;
const MAIL_MS_MAX = 30_000;
const MAIL_POLL_MS = 50;

/** The existing or new demo data. */
export interface DemoData {
  readonly seeded: boolean;
  readonly apiKey: string | null;
  /** Password of {@link DEMO_EMAIL} in the dashboard; null if there is no such user. */
  readonly password: string | null;
}

/**
 * Fills an empty system with a catalog, an account, credit and a key by requests to the services
 * that own them. Leaves a system with accounts unchanged.
 */
export async function seedDemo(system: LocalSystem, stateDirectory: string, force: boolean): Promise<DemoData> {
  return withBus(system.addresses.natsUrlOf('dashboard'), SEEDER, async (bus) => {
    const { total } = requireAccepted(await bus.request(accountsListAccounts, { cursor: null, limit: 1 }));
    const given = Object.values(system.servers).some((server) => server.resolver === 'url');
    if (total > 0 && system.secrets.demoApiKey !== null) await updateSourceAddresses(bus, system, stateDirectory);
    const { demoApiKey, demoPassword } = system.secrets;
    if (total > 0 || (given && !force)) return { seeded: false, apiKey: demoApiKey, password: demoPassword };
    await seedCatalog(bus, system);
    const password = await signUpDemo(system);
    const apiKey = await seedAccount(bus, system.secrets.keyPepper);
    const demoProviderUrls = system.running().providerUrls;
    saveSecrets(stateDirectory, { ...system.secrets, demoApiKey: apiKey, demoPassword: password, demoProviderUrls });
    return { seeded: true, apiKey, password };
  });
}

/** Returns a demo model that the simulated provider currently serves; null if there is none. */
export function findDemoModel(system: LocalSystem): Promise<string | null> {
  const url = system.addresses.natsUrlOf('dashboard');
  return withBus(url, SEEDER, (bus) => findReachableModel(bus, demoSources(system)));
}

/** Connects to the bus as the dashboard, whose permissions all of this needs. */
async function withBus<T>(url: string, replica: string, use: (bus: Bus) => Promise<T>): Promise<T> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const bus = await connectBus({ url, service: 'dashboard', replica, log });
  try {
    return await use(bus);
  } finally {
    await bus.drain(1_000);
  }
}

/** Applies the whole catalog in one change. */
async function seedCatalog(bus: Bus, system: LocalSystem): Promise<void> {
  const key = publicHalfOf(new Secret(Buffer.from(system.secrets.sourcePrivateKey, 'hex')));
  const sources = demoSources(system).map(({ id, spec }) => {
    const sealedCredential = sealTo(system.secrets.demoProviderKey, id, key);
    return { kind: 'source' as const, id, spec, sealedCredential };
  });
  const objects = [
    ...DEMO_PROVIDERS.map((provider) => ({ kind: 'provider' as const, ...provider })),
    ...DEMO_MODELS.map(({ id, spec }) => ({ kind: 'model' as const, id, spec })),
    ...sources,
  ];
  requireAccepted(await bus.request(catalogApply, { objects, prune: false, dryRun: false, author: AUTHOR }));
}

/**
 * Updates the demo's sources if the simulator's ports have changed, because its usual ports were
 * taken. Leaves out sources that an operator deleted or changed.
 */
async function updateSourceAddresses(bus: Bus, system: LocalSystem, stateDirectory: string): Promise<void> {
  const { providerUrls } = system.running();
  const last = system.secrets.demoProviderUrls ?? [];
  if (providerUrls.every((url, index) => url === last[index])) return;
  for (const { id, spec } of demoSources(system)) {
    const answer = await bus.request(catalogGetSource, { id });
    if ('refused' in answer || !last.includes(answer.source.baseUrl)) continue;
    requireAccepted(await bus.request(catalogPutSource, { id, spec, author: AUTHOR }));
  }
  saveSecrets(stateDirectory, { ...system.secrets, demoProviderUrls: providerUrls });
}

/** Returns the first usable demo model that has a source at a running simulator. */
export async function findReachableModel(bus: Pick<Bus, 'request'>, sources: readonly DemoSource[]) {
  for (const { id } of DEMO_MODELS) {
    const found = await bus.request(catalogGetModel, { id });
    if ('refused' in found) continue;
    const { kind, active, available, prices } = found.model;
    if (kind !== 'chat' || !active || !available || prices === null) continue;
    for (const own of sources.filter(({ spec }) => spec.modelId === id)) {
      const answer = await bus.request(catalogGetSource, { id: own.id });
      if ('refused' in answer) continue;
      const { enabled, hasCredential, baseUrl } = answer.source;
      if (enabled && hasCredential && sources.some(({ spec }) => spec.baseUrl === baseUrl)) return id;
    }
  }
  return null;
}

interface DemoSource {
  readonly id: string;
  readonly spec: ReturnType<typeof demoSource>;
}

function demoSources(system: LocalSystem): DemoSource[] {
  const { providerUrls } = system.running();
  return DEMO_MODELS.flatMap((model) =>
    ([0, 1] as const).slice(0, model.sources).map((listener) => ({
      id: `${model.id.replace(/[^A-Za-z0-9.-]/g, '-')}-${listener === 0 ? 'a' : 'b'}`,
      spec: demoSource(model, listener, providerUrls[listener] ?? ''),
    })),
  );
}

/**
 * Signs the demo user up like any user and opens the link in the email. Only the secrets of this
 * state contain the password.
 */
async function signUpDemo({ addresses, mailbox }: LocalSystem): Promise<string> {
  const password = randomBytes(DEMO_PASSWORD_BYTES).toString('base64url');
  const send = async (path: string, body: object) => {
    const response = await fetch(`${addresses.dashboardUrl}/api${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the demo's ${path} failed with status ${response.status}`);
  };
  await send('/sign-up', { name: 'Demo', email: DEMO_EMAIL });
  await send('/verify-email', { token: await verifyingToken(mailbox), password });
  return password;
}

/** Returns the token of the link in the newest email to the demo user. */
async function verifyingToken(mailbox: Mailbox): Promise<string> {
  const until = performance.now() + MAIL_MS_MAX;
  while (performance.now() < until) {
    const all = await Promise.all((await mailbox.mails()).map(readMail));
    const mails = all.filter(({ to }) => to === DEMO_EMAIL);
    const token = mails.flatMap(({ text }) => /\/verify#token=([\w-]{43})/.exec(text)?.[1] ?? []).at(-1);
    if (token !== undefined) return token;
    await new Promise((resolve) => setTimeout(resolve, MAIL_POLL_MS));
  }
  throw new Error(`no email to ${DEMO_EMAIL} arrived within ${MAIL_MS_MAX} ms`);
}

async function seedAccount(bus: Bus, pepper: string): Promise<string> {
  const { accounts } = requireAccepted(await bus.request(accountsListAccounts, { cursor: null, limit: 1 }));
  const [account] = accounts;
  if (account === undefined) throw new Error('the demo account is missing');
  requireAccepted(
    await bus.request(billingAddWalletEntry, {
      account: account.id,
      spec: {
        amountUsd: DEMO_CREDIT_USD,
        kind: 'credit',
        reason: 'Demo credit',
        reference: `demo-credit-${account.id}`,
      },
      author: AUTHOR,
    }),
  );
  const secret = makeSecret(DEFAULT_KEY_PREFIX);
  requireAccepted(
    await bus.request(accountsCreateKey, {
      account: account.id,
      spec: { name: 'Demo key' },
      digest: digestOfSecret(secret, pepper),
      maskedSecret: maskSecret(secret),
      author: AUTHOR,
    }),
  );
  return secret;
}

function requireAccepted<T extends object>(answer: T): Exclude<T, { refused: unknown }> {
  if ('refused' in answer) throw new Error(`refused: ${JSON.stringify(answer.refused)}`);
  return answer as Exclude<T, { refused: unknown }>;
}
