import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { ServiceName } from '@gateway/contracts/messages';
import { startServers, type RunningServer } from '@gateway/servers';
import { patientClock } from '@gateway/testkit/clocks';
import { createAccount, createOperator, createUser, type KeyPair } from 'nkeys.js';
import { faultCode, TEST_TIMEOUT_MS, until } from '../test/bus-world.js';
import { echo, TEST_BUCKETS, TEST_MESSAGES } from '../test/messages.js';
import { connectBus, type Bus, type BusOptions } from './index.js';
import { computePermissions } from './permissions.js';

jest.setTimeout(TEST_TIMEOUT_MS);

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const UNLIMITED = { subs: -1, data: -1, payload: -1 };
const DRAIN_MS = 5_000;
const directory = mkdtempSync(`${tmpdir()}/bus-credentials-`);
const [operator, account, system] = [createOperator(), createAccount(), createAccount()];
let nats: RunningServer;
const buses: Bus[] = [];

beforeAll(async () => {
  const accounts = [
    [account, { disk_storage: -1, mem_storage: -1, streams: -1, consumer: -1 }],
    [system, {}],
  ] as const;
  const preloaded = accounts.map(([keys, storage]) => {
    const limits = { ...UNLIMITED, ...storage, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
    return `${keys.getPublicKey()}: ${signed(operator, keys, { type: 'account', limits })}`;
  });
  ({ nats } = await startServers(['nats'], {
    stateDirectory: directory,
    // A private server, because it is restarted and has no passwords.
    env: { ...process.env, GATEWAY_NATS_URL: '' },
    durable: false,
    nats: {
      config: [
        `operator: ${signed(operator, operator, { type: 'operator' })}`,
        `system_account: ${system.getPublicKey()}`,
        'resolver: MEMORY',
        `resolver_preload: {\n${preloaded.join('\n')}\n}\n`,
      ].join('\n'),
    },
  }));
});
afterAll(async () => {
  await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
  await nats.stop();
  rmSync(directory, { recursive: true, force: true });
});

test('services sign in to an operator-mode server; a reconnect reads the file again', async () => {
  for (const service of ['edge-proxy', 'admission'] as const) writeCredentials(service);
  const [edge, admission] = await Promise.all([connected('edge-proxy'), connected('admission')]);
  admission.serve(echo, ({ text }) => Promise.resolve({ text, replica: 'r' }));
  await admission.listening();
  expect((await edge.request(echo, { text: 'hello' })).text).toBe('hello');

  // The new user may not send this request.
  writeCredentials('edge-proxy', { mayPublish: ['nothing'] });
  await nats.restart?.({ kill: true });
  await until('both are connected again', () => edge.connected() && admission.connected());
  expect(await faultCode(edge.request(echo, { text: 'hello' }))).toBe('forbidden');
});

test('refused credentials and a missing file are named', async () => {
  writeCredentials('catalog', { issuer: createAccount() });
  await expect(connected('catalog', {})).rejects.toThrow(`NATS refuses the credentials in ${fileOf('catalog')}`);
  await expect(connected('billing', {})).rejects.toThrow(`${fileOf('billing')} cannot be read (ENOENT)`);
});

test.each(['nats://edge-proxy:p@h:4222?credentials=/f', 'nats://h:4222?creds=/f', 'nats://h:4222?credentials='])(
  'a URL of another form is refused: %s',
  async (url) => {
    const connecting = connectBus({ url, service: 'edge-proxy', replica: 'r', log: silent });
    await expect(connecting).rejects.toThrow('the bus URL is not nats://user:password@host:port');
  },
);

/** Without a clock, timers of a refused connection end within seconds. */
async function connected(service: ServiceName, timing: Partial<BusOptions> = { clock: patientClock }): Promise<Bus> {
  const url = `${nats.url}?credentials=${encodeURIComponent(fileOf(service))}`;
  const bus = await connectBus({ url, service, replica: 'r', log: silent, ...timing });
  buses.push(bus);
  return bus;
}

function fileOf(service: ServiceName): string {
  return `${directory}/${service} of tests.creds`;
}

/** Writes a credentials file as `nsc` does, by default with the service's own permissions. */
function writeCredentials(
  service: ServiceName,
  { issuer = account, mayPublish }: { issuer?: KeyPair; mayPublish?: string[] } = {},
): void {
  const user = createUser();
  const { publish, subscribe } = computePermissions(service, TEST_MESSAGES, TEST_BUCKETS);
  const jwt = signed(issuer, user, {
    type: 'user',
    ...UNLIMITED,
    pub: { allow: mayPublish ?? publish },
    sub: { allow: subscribe },
  });
  const seed = Buffer.from(user.getSeed()).toString();
  writeFileSync(
    fileOf(service),
    `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n` +
      `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  );
}

/** Returns a JWT in NATS' form, version 2. */
function signed(issuer: KeyPair, subject: KeyPair, claims: object): string {
  const body = {
    jti: randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    nats: { version: 2, ...claims },
  };
  const parts = [{ typ: 'JWT', alg: 'ed25519-nkey' }, body].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = issuer.sign(Buffer.from(parts.join('.')));
  return [...parts, Buffer.from(signature).toString('base64url')].join('.');
}
