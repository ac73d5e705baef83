import { expect, test } from '@jest/globals';
import { openSealed, publicHalfOf, sealTo, Secret, SealError } from '@gateway/service-kit';
import { temporaryDirectory } from '@gateway/testkit';
import type { Addresses } from './addresses.js';
import { environmentOf, SERVICES } from './processes.js';
import { loadSecrets } from './secrets.js';

const addresses = {
  natsUrlOf: () => 'nats://127.0.0.1:4222',
  postgresUrlOf: () => 'postgres://127.0.0.1/gateway',
  redisUrl: 'redis://127.0.0.1:6379',
  smtpUrl: 'smtp://127.0.0.1:25',
  publicUrl: 'http://127.0.0.1:8080',
  dashboardUrl: 'http://127.0.0.1:8081',
} as unknown as Addresses;

test('only the edge can open source credentials, and only billing webhook secrets', () => {
  const directory = temporaryDirectory('secrets');
  try {
    const secrets = loadSecrets(directory.path);
    const keyOf = (privateKey: string) => publicHalfOf(new Secret(Buffer.from(privateKey, 'hex')));
    const credential = sealTo('sk-1', 'src', keyOf(secrets.sourcePrivateKey));
    const webhook = sealTo('whsec_1', 'webhook:acc_1', keyOf(secrets.webhookPrivateKey));
    const opens = (sealed: string, context: string) =>
      SERVICES.filter((service) =>
        keysIn(environmentOf(service, addresses, secrets, directory.path)).some(opensBy(sealed, context)),
      );
    expect(opens(credential, 'src')).toEqual(['edge-proxy']);
    expect(opens(webhook, 'webhook:acc_1')).toEqual(['billing']);
    expect([opens(credential, 'another'), opens(webhook, 'webhook:acc_2')]).toEqual([[], []]);
  } finally {
    directory.remove();
  }
});

/** Returns all values of an environment that may be a key. */
function keysIn(environment: Record<string, string>): Secret<Buffer>[] {
  const texts = Object.values(environment).filter((text) => /^[0-9a-f]{64}$/.test(text));
  return texts.map((text) => new Secret(Buffer.from(text, 'hex')));
}

/** Tests the key in every role. */
const opensBy = (sealed: string, context: string) => (key: Secret<Buffer>) => {
  try {
    openSealed(sealed, context, { privateKey: { current: key, previous: key } });
    return true;
  } catch (error) {
    if (error instanceof SealError) return false;
    throw error;
  }
};
