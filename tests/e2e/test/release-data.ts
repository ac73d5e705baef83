import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { connectBus } from '@gateway/bus';
import { edgeHeartbeat } from '@gateway/contracts/messages';
import { startSystem } from '@gateway/local';
import { silentLog, temporaryDirectory, until } from '@gateway/testkit';
import { connect, type NatsConnection } from 'nats';
import { runProgram } from '../src/upgrade/run-program.js';
import { chat } from './call.js';
import { startHttpServer, type HttpServer } from './http-server.js';
import type { TestAccount, TestModel } from './operator.js';
import { type OwnSystem, PATIENT, startOwnSystem } from './own-system.js';
import { CENT } from './prices.js';

/** What an archive says about its backup, in `data.json`. */
export interface ReleaseData {
  /** Values of `secrets.json` that the stored data depends on. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly model: TestModel;
  /** One pays with its wallet, the other has a plan. */
  readonly accounts: readonly TestAccount[];
  /** Requests of each account that the backup has, at one cent. */
  readonly settled: number;
  /** Unsettled requests of the first account, which only the messages have. */
  readonly unsettled: number;
  /** Messages of the streams, as they were sent. */
  readonly messages: readonly { readonly subject: string; readonly base64: string }[];
}

export const CREDIT_USD = '10.00';
const SETTLED = 3;
const UNSETTLED = 2;
const SECRETS = ['keyPepper', 'sourcePrivateKey', 'webhookPrivateKey', 'sessionSecret', 'operatorToken'] as const;
const STOP_MS = 30_000;
const PERIOD_END_MS = Date.UTC(2100, 0, 1);
const DAY_MS = 86_400_000;
const ARCHIVES = new URL(import.meta.url.includes('/dist/') ? '../../releases/' : '../releases/', import.meta.url);

export const archiveOf = (version: string): string => fileURLToPath(new URL(`${version}.tar.gz`, ARCHIVES));

/** A provider that answers each request, and the credentials that it received. */
export async function startAnsweringProvider(): Promise<HttpServer & { readonly credentials: string[] }> {
  const credentials: string[] = [];
  const server = await startHttpServer((request, response) => {
    credentials.push(String(request.headers.authorization));
    const message = { role: 'assistant', content: 'Hello.' };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.end(JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', created: 1, choices, usage }));
    });
  });
  return { ...server, credentials };
}

/** Sends one request and throws unless it is served. */
export async function requestOnce({ local }: OwnSystem, { secret }: TestAccount, model: string): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Say hello.' }] };
  const { status, text } = await chat(`${local.running().edgeUrls[0]}/v1/chat/completions`, secret, body);
  if (status !== 200) throw new Error(`the request was not served: ${status} ${text}`);
}

/** Starts a system, serves requests, and writes its backup and its unsettled messages. */
export async function writeRelease(version: string): Promise<void> {
  const provider = await startAnsweringProvider();
  const system = await startOwnSystem('release', PATIENT);
  const directory = temporaryDirectory('release-data');
  try {
    const { operator, local } = system;
    const model = await operator.model(CENT, [provider.url]);
    const payer = await operator.account(CREDIT_USD);
    const subscriber = await operator.account(CREDIT_USD);
    const plan = await operator.plan({ windows: [{ type: 'monthly', unit: 'requests', limit: 1_000 }] });
    await operator.subscribe(subscriber.account, plan, { startMs: Date.now() - DAY_MS, endMs: PERIOD_END_MS });
    const accounts = [payer, subscriber];
    for (const account of accounts)
      for (let sent = 0; sent < SETTLED; sent += 1) await requestOnce(system, account, model.id);
    for (const { account } of accounts)
      await until('the requests are settled', async () => (await operator.records(account)).length === SETTLED);
    await Promise.all(local.children('billing').map((child) => child.stop(STOP_MS)));
    for (let sent = 0; sent < UNSETTLED; sent += 1) await requestOnce(system, payer, model.id);
    const messages = await readMessages(system);
    const { code, output } = await runProgram('backup', ['--to', `${directory.path}/backup`], system);
    if (code !== 0) throw new Error(`backup exited with code ${code}: ${output}`);
    const secrets = Object.fromEntries(SECRETS.map((name) => [name, local.secrets[name]]));
    const data: ReleaseData = { secrets, model, accounts, settled: SETTLED, unsettled: UNSETTLED, messages };
    writeFileSync(`${directory.path}/data.json`, JSON.stringify(data));
    mkdirSync(ARCHIVES, { recursive: true });
    execFileSync('tar', ['-czf', archiveOf(version), '-C', directory.path, 'backup', 'data.json']);
  } finally {
    await system.stop();
    await provider.close();
    directory.remove();
  }
}

/** Starts a system with the secrets of an archive, stops its database users and restores it. */
export async function restoreRelease(version: string, directory: string): Promise<[OwnSystem, ReleaseData]> {
  execFileSync('tar', ['-xzf', archiveOf(version), '-C', directory]);
  const data = JSON.parse(readFileSync(`${directory}/data.json`, 'utf8')) as ReleaseData;
  const start: typeof startSystem = (options) => {
    const file = `${options.stateDirectory}/secrets.json`;
    const own = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as object) : {};
    writeFileSync(file, JSON.stringify({ ...own, ...data.secrets }), { mode: 0o600 });
    return startSystem(options);
  };
  const system = await startOwnSystem('released', PATIENT, {}, { start });
  try {
    const children = (['billing', 'accounts', 'catalog'] as const).flatMap((name) => system.local.children(name));
    await Promise.all(children.map((child) => child.stop(STOP_MS)));
    const { code, output } = await runProgram('restore', ['--from', `${directory}/backup`], system);
    if (code !== 0) throw new Error(`restore exited with code ${code}: ${output}`);
    await sendMessages(system, data.messages);
    await Promise.all(children.map((child) => child.start()));
    return [system, data];
  } catch (error) {
    await system.stop();
    throw error;
  }
}

/** Reads all messages of the stream of usage events, and the last heartbeats. */
async function readMessages({ local }: OwnSystem): Promise<ReleaseData['messages']> {
  const connection = await connectAs(local, 'billing');
  const ask = async <T>(operation: string, body: object): Promise<T> =>
    (await connection.request(`$JS.API.STREAM.${operation}.USAGE`, JSON.stringify(body))).json<T>();
  const { state } = await ask<{ state: { first_seq: number; last_seq: number } }>('INFO', {});
  const messages: ReleaseData['messages'][number][] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const { message } = await ask<{ message: { subject: string; data: string } }>('MSG.GET', { seq });
    messages.push({ subject: message.subject, base64: message.data });
  }
  await connection.drain();
  const bus = await connectBus({
    url: local.addresses.natsUrlOf('admission'),
    service: 'admission',
    replica: 'release-data',
    log: silentLog,
  });
  for (const pattern of ['edge.heartbeat.*.*', 'edge.heartbeat-short.*.*'])
    for (const { subject, data } of await bus.lastPerSubject(edgeHeartbeat.stream, pattern))
      messages.push({ subject, base64: Buffer.from(data).toString('base64') });
  await bus.drain(1_000);
  return messages;
}

async function sendMessages({ local }: OwnSystem, messages: ReleaseData['messages']): Promise<void> {
  const connection = await connectAs(local, 'edge-proxy');
  for (const { subject, base64 } of messages) {
    const stored = await connection.request(subject, Buffer.from(base64, 'base64'));
    if (stored.json<{ error?: object }>().error !== undefined) throw new Error(`${subject} is not stored`);
  }
  await connection.drain();
}

function connectAs({ addresses }: OwnSystem['local'], service: string): Promise<NatsConnection> {
  const { host, username: user, password: pass } = new URL(addresses.natsUrlOf(service));
  return connect({ servers: host, user, pass, inboxPrefix: `_INBOX_${service}` });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [version] = process.argv.slice(2);
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) throw new Error('usage: write-release <version>');
  await writeRelease(version);
  console.log(archiveOf(version));
}
