import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectBus } from '@gateway/bus';
import type { Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES } from '@gateway/contracts/messages';
import type { AnyMessage, ServiceName } from '@gateway/contracts/messages';
import { silentLog } from '@gateway/testkit';
import { sharedSystem } from '../test/system.js';
import type { SharedSystem } from '../test/system.js';

type Request = Extract<AnyMessage, { kind: 'request' }>;

/**
 * A version that no handler knows. A handler replies `invalid_message`. Without a handler the code
 * is `no_responders`.
 */
const UNKNOWN_VERSION = 9_999;
/** Longer than the timeouts of the messages, because a machine under load may exceed those. */
const TIMEOUT_MS = 20_000;

let system: SharedSystem;
const buses = new Map<ServiceName, Bus>();
beforeAll(async () => {
  system = sharedSystem();
  for (const service of SERVICE_NAMES) {
    const url = system.natsUrlOf(service);
    buses.set(service, await connectBus({ url, service, replica: 'e2e-handlers', log: silentLog }));
  }
});
afterAll(async () => {
  await Promise.all([...buses.values()].map((bus) => bus.drain(1_000)));
});

const served = MESSAGES.filter((message): message is Request => message.kind === 'request').filter(({ servedBy }) =>
  servedBy.some((service) => service !== 'dashboard'),
);

/** Sends a request with the sender's permissions and returns the code of the handler's reply. */
async function answerCode(message: Request, sender: ServiceName): Promise<unknown> {
  const bus = buses.get(sender);
  if (bus === undefined) throw new Error(`${sender} is not connected`);
  const { packed: _packed, ...byName } = message;
  const strange = { ...byName, timeoutMs: TIMEOUT_MS, version: UNKNOWN_VERSION };
  return new Promise((resolve) => {
    const done = (value: unknown): void => resolve((value as { code?: unknown }).code ?? value);
    if (strange.answers === 'many') bus.requestMany(strange, {}, { answer: done, fault: done });
    else bus.request(strange, {}).then(done, done);
  });
}

test.each(served.flatMap((message) => message.sentBy.map((sender) => [message.name, sender, message] as const)))(
  '%s has a handler that replies to %s',
  async (_name, sender, message) => {
    expect(await answerCode(message, sender)).toBe('invalid_message');
  },
);

test('a subject without a handler does not return invalid_message', async () => {
  const [message] = served.filter(({ sentBy }) => sentBy.includes('dashboard'));
  if (message === undefined) throw new Error('the dashboard does not send any request');
  // This shows that `invalid_message` in the tests above comes from a handler.
  const code = await answerCode({ ...message, subject: `${message.subject}.nobody` }, 'dashboard');
  expect(code).not.toBe('invalid_message');
});
