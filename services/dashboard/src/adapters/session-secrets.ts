import { digestOfSecret, SECRET_BODY_CHARS, secretFrom } from '@gateway/contracts/ids';
import { open, seal, Secret, SealError, type Rotatable } from '@gateway/service-kit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PlaygroundOwner, SessionSecrets } from '../page-ports.js';

const SESSION_BYTES = 32;
const OPERATOR_CONTEXT = 'operator-session';

export interface SessionSecretsConfig {
  readonly GATEWAY_SESSION_SECRET: Rotatable;
  readonly GATEWAY_KEY_PEPPER: Rotatable;
}

/** Everything under the session secret. Each use has a name of its own, so that no value can stand for another. */
export function makeSessionSecrets(config: SessionSecretsConfig, keyPrefix: string): SessionSecrets {
  const { current, previous } = config.GATEWAY_SESSION_SECRET;
  const secrets = [current, ...(previous ? [previous] : [])];
  const sealingKeys: Rotatable<Buffer> = { current: sealingKey(current), previous: previous && sealingKey(previous) };
  const pepper = config.GATEWAY_KEY_PEPPER.current;
  const playgroundSecret = (secret: Secret, { account, member }: PlaygroundOwner): string =>
    secretFrom(
      keyPrefix,
      mac(secret, 'playground', `${account}:${member}`).toString('hex').slice(0, SECRET_BODY_CHARS),
    );
  return {
    makeSession: () => randomBytes(SESSION_BYTES).toString('base64url'),
    digestsOf: (session) => secrets.map((secret) => mac(secret, 'session', session).toString('hex')),
    csrfTokenOf: (cookie) => mac(current, 'csrf', cookie).toString('base64url'),
    isCsrfToken(cookie, token) {
      const presented = Buffer.from(token, 'base64url');
      const expected = secrets.map((secret) => mac(secret, 'csrf', cookie));
      return expected.map((one) => one.length === presented.length && timingSafeEqual(one, presented)).includes(true);
    },
    sealOperator: (token, until) => seal(JSON.stringify({ token, until }), OPERATOR_CONTEXT, sealingKeys),
    openOperator(cookie, nowMs) {
      try {
        const { token, until } = JSON.parse(open(cookie, OPERATOR_CONTEXT, sealingKeys)) as OperatorCookie;
        return until > nowMs ? token : null;
      } catch (err) {
        if (err instanceof SealError) return null;
        throw err;
      }
    },
    playgroundKey: (owner) => ({
      secret: playgroundSecret(current, owner),
      digests: secrets.map((secret) => digestOfSecret(playgroundSecret(secret, owner), pepper.reveal())),
    }),
  };
}

interface OperatorCookie {
  readonly token: string;
  readonly until: number;
}

function mac(secret: Secret, use: string, text: string): Buffer {
  return createHmac('sha256', secret.reveal()).update(`${use}:${text}`).digest();
}

function sealingKey(secret: Secret): Secret<Buffer> {
  return new Secret(mac(secret, 'sealing-key', OPERATOR_CONTEXT));
}
