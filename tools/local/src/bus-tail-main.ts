// `npm run bus:tail -w tools/local [-- <message name>...] [--seconds N] [--state DIR]`: prints
// messages on the bus of the local system with the names of their fields, for N seconds or until it
// is stopped. Without names: the messages of every call.
import { parseArgs } from 'node:util';
import { tailBus } from '@gateway/bus';
import { MESSAGES } from '@gateway/contracts/messages';
import { readRunning } from './running-file.js';
import { loadSecrets } from './secrets.js';

const OF_EVERY_CALL = ['admission.batch', 'usage.events', 'billing.balance-snapshot'];

const { values, positionals } = parseArgs({
  options: { state: { type: 'string' }, seconds: { type: 'string' } },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : OF_EVERY_CALL;
const messages = MESSAGES.filter(({ name }) => names.includes(name));

const unknown = names.filter((name) => !messages.some((message) => message.name === name));
if (unknown.length > 0) {
  const known = MESSAGES.map(({ name }) => name).join(', ');
  console.error(`unknown message: ${unknown.join(', ')}; known messages: ${known}`);
  process.exit(1);
}
const { state, running } = readRunning(values.state);
const { busPasswords } = loadSecrets(state);
const urlOf = (service: keyof typeof busPasswords): string =>
  Object.assign(new URL(running.natsUrl), { username: service, password: busPasswords[service] }).href;

const end = await tailBus(urlOf, messages, ({ name, subject, isAnswer, bytes, body }) => {
  const what = isAnswer ? `reply to ${name}` : name;
  console.log(`${new Date().toISOString()} ${what} (${subject}, ${bytes} bytes) ${JSON.stringify(body)}`);
});
const stop = (): void => void end().then(() => process.exit(0));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
if (values.seconds !== undefined) setTimeout(stop, Number(values.seconds) * 1_000);
