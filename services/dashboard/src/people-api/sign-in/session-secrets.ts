import { digestOfSecret, SECRET_BODY_CHARS, secretFrom } from '@gateway/contracts/ids';
import type { Rotatable, Secret } from '@gateway/service-kit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PlaygroundOwner, SessionSecrets } from '../../page-ports.js';

const SESSION_BYTES = 32;

export interface SessionSecretsConfig {
  readonly GATEWAY_SESSION_SECRET: Rotatable;
  readonly GATEWAY_KEY_PEPPER: Rotatable;
}

/** Everything under the session secret. Each use has a name of its own, so that no value can stand for another. */
export function makeSessionSecrets(config: SessionSecretsConfig, keyPrefix: string): SessionSecrets {
  const { current, previous } = config.GATEWAY_SESSION_SECRET;
  const secrets = [current, ...(previous ? [previous] : [])];
  const pepper = config.GATEWAY_KEY_PEPPER.current;
  const playgroundSecret = (secret: Secret, { account, member }: PlaygroundOwner): string =>
    secretFrom(
      keyPrefix,
      mac(secret, 'playground', `${account}:${member}`).toString('hex').slice(0, SECRET_BODY_CHARS),
    );
  return {
    makeSession: () => randomBytes(SESSION_BYTES).toString('base64url'),
    digestsOf: (session) => secrets.map((secret) => mac(secret, 'session', session).toString('hex')),
    operatorDigestsOf: (session) => secrets.map((secret) => mac(secret, 'operator-session', session).toString('hex')),
    csrfTokenOf: (cookie) => mac(current, 'csrf', cookie).toString('base64url'),
    isCsrfToken(cookie, token) {
      const presented = Buffer.from(token, 'base64url');
      const expected = secrets.map((secret) => mac(secret, 'csrf', cookie));
      return expected.map((one) => one.length === presented.length && timingSafeEqual(one, presented)).includes(true);
    },
    playgroundKey: (owner) => ({
      secret: playgroundSecret(current, owner),
      digests: secrets.map((secret) => digestOfSecret(playgroundSecret(secret, owner), pepper.reveal())),
    }),
  };
}

function mac(secret: Secret, use: string, text: string): Buffer {
  return createHmac('sha256', secret.reveal()).update(`${use}:${text}`).digest();
}
