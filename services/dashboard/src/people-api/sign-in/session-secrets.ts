import { digestOfSecret, SECRET_BODY_CHARS, secretFrom } from '@gateway/contracts/ids';
import type { Rotatable, Secret } from '@gateway/service-kit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const SESSION_BYTES = 32;

export interface SessionSecretsConfig {
  readonly GATEWAY_SESSION_SECRET: Rotatable;
  readonly GATEWAY_KEY_PEPPER: Rotatable;
}

/** Owner of a playground key. Each member of an account has one key. */
export interface PlaygroundOwner {
  readonly account: string;
  readonly member: string;
}

export type SessionSecrets = ReturnType<typeof createSessionSecrets>;

/**
 * Creates session cookies and derives values from them and the session secret. Only digests leave
 * the dashboard. Each derivation includes the name of its purpose, so that values are not
 * interchangeable.
 */
export function createSessionSecrets(config: SessionSecretsConfig, keyPrefix: string) {
  const { current, previous } = config.GATEWAY_SESSION_SECRET;
  const secrets = [current, ...(previous ? [previous] : [])];
  const pepper = config.GATEWAY_KEY_PEPPER.current;
  const playgroundSecret = (secret: Secret, { account, member }: PlaygroundOwner): string =>
    secretFrom(
      keyPrefix,
      mac(secret, 'playground', `${account}:${member}`).toString('hex').slice(0, SECRET_BODY_CHARS),
    );
  return {
    /** Creates the value of a session cookie: 256 random bits in base64url. */
    makeSession: (): string => randomBytes(SESSION_BYTES).toString('base64url'),
    /** Returns the digest under the current secret, then under the previous one if it exists. */
    digestsOf: (session: string): string[] => secrets.map((secret) => mac(secret, 'session', session).toString('hex')),
    /** Returns the digests of an operator's cookie; they differ from those of a person's cookie. */
    operatorDigestsOf: (session: string): string[] =>
      secrets.map((secret) => mac(secret, 'operator-session', session).toString('hex')),
    /** Returns the csrf token that a page must send with this cookie. */
    csrfTokenOf: (cookie: string): string => mac(current, 'csrf', cookie).toString('base64url'),
    isCsrfToken(cookie: string, token: string): boolean {
      const presented = Buffer.from(token, 'base64url');
      const expected = secrets.map((secret) => mac(secret, 'csrf', cookie));
      return expected.map((one) => one.length === presented.length && timingSafeEqual(one, presented)).includes(true);
    },
    /**
     * Returns a member's playground key (docs/behaviour.md#playground): the secret, and its digests
     * under the current and the previous session secret.
     */
    playgroundKey: (owner: PlaygroundOwner) => ({
      secret: playgroundSecret(current, owner),
      digests: secrets.map((secret) => digestOfSecret(playgroundSecret(secret, owner), pepper.reveal())),
    }),
  };
}

function mac(secret: Secret, use: string, text: string): Buffer {
  return createHmac('sha256', secret.reveal()).update(`${use}:${text}`).digest();
}
