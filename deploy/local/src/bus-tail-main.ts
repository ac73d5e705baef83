// `npm run bus:tail [-- <message name>...] [--seconds N] [--state DIR]`: the messages of the local
// system's bus while they go by, each with the names of its fields; for N seconds, or until it is
// stopped. Without names: those of every call.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { tailBus } from '@gateway/bus';
import { MESSAGES } from '@gateway/contracts/messages';
import type { RunningFile } from './running-file.js';
import { loadSecrets } from './secrets.js';

/** A timer counts no further. */
const MAX_SECONDS = 2_000_000;
const OF_EVERY_CALL = ['admission.batch', 'usage.events', 'usage.recorded', 'billing.standing'];

const { values, positionals } = parseArgs({
  options: { state: { type: 'string' }, seconds: { type: 'string', default: 'Infinity' } },
  allowPositionals: true,
});
const state = resolve(values.state ?? fileURLToPath(new URL('../../../.state', import.meta.url)));
const names = positionals.length > 0 ? positionals : OF_EVERY_CALL;
const messages = MESSAGES.filter(({ name }) => names.includes(name));

const unknown = names.filter((name) => !messages.some((message) => message.name === name));
if (unknown.length > 0) {
  console.error(`no message is named ${unknown.join(', ')}; there are ${MESSAGES.map(({ name }) => name).join(', ')}`);
  process.exit(1);
}
if (!existsSync(`${state}/running.json`)) {
  console.error(`no system is running on ${state}: start it with "npm start"`);
  process.exit(1);
}
const { natsUrl } = JSON.parse(readFileSync(`${state}/running.json`, 'utf8')) as RunningFile;
const { busPasswords } = loadSecrets(state);
const urlOf = (service: keyof typeof busPasswords): string =>
  Object.assign(new URL(natsUrl), { username: service, password: busPasswords[service] }).href;

const end = await tailBus(urlOf, messages, ({ name, subject, isAnswer, bytes, body }) => {
  const what = isAnswer ? `answer to ${name}` : name;
  console.log(`${new Date().toISOString()} ${what} (${subject}, ${bytes} bytes) ${JSON.stringify(body)}`);
});
const stop = (): void => void end().then(() => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
if (Number(values.seconds) < MAX_SECONDS) setTimeout(stop, Number(values.seconds) * 1_000);
