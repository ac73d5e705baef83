import { digestOfSecret, SECRET_BODY_CHARS, secretFrom } from '@gateway/contracts/ids';
import type { Rotatable, Secret } from '@gateway/service-kit';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const SESSION_BYTES = 32;

export interface SessionSecretsConfig {
  readonly GATEWAY_SESSION_SECRET: Rotatable;
  readonly GATEWAY_KEY_PEPPER: Rotatable;
}

/** Whose playground key: each member of an account has one. */
export interface PlaygroundOwner {
  readonly account: string;
  readonly member: string;
}

export type SessionSecrets = ReturnType<typeof createSessionSecrets>;

/**
 * Values of cookies and what follows from them, under the session secret. Nothing of it leaves the
 * dashboard but the digests. Each use has its own name, so that no value can be taken for another.
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
    /** A new value of a session's cookie: 256 random bits in base64url. */
    makeSession: (): string => randomBytes(SESSION_BYTES).toString('base64url'),
    /** Under the current secret, then under the previous one if there is one. */
    digestsOf: (session: string): string[] => secrets.map((secret) => mac(secret, 'session', session).toString('hex')),
    /** Likewise of an operator's cookie: no person's can be taken for it. */
    operatorDigestsOf: (session: string): string[] =>
      secrets.map((secret) => mac(secret, 'operator-session', session).toString('hex')),
    /** What a page must send with the cookie of this value. */
    csrfTokenOf: (cookie: string): string => mac(current, 'csrf', cookie).toString('base64url'),
    isCsrfToken(cookie: string, token: string): boolean {
      const presented = Buffer.from(token, 'base64url');
      const expected = secrets.map((secret) => mac(secret, 'csrf', cookie));
      return expected.map((one) => one.length === presented.length && timingSafeEqual(one, presented)).includes(true);
    },
    /**
     * Of a member's playground key (docs/behaviour.md#playground): the secret, and its digests
     * under this and the previous session secret.
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
