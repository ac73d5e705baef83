import type { Bus } from '@gateway/bus';
import type { Clock, Logger } from '@gateway/service-kit';
import type { AccessLog } from './access-log.js';

/** The services behind the door, asked over the bus. Rejects with a BusFault. */
export type Services = Pick<Bus, 'request'>;

/** Secrets are made and judged here; what leaves over the bus are digests, masked forms and sealed texts. */
export interface Secrets {
  /** A new API key: the secret for the one answer, and what is stored of it. */
  makeKey(): { readonly secret: string; readonly digest: string; readonly maskedSecret: string };
  /** Signs the events of an account's webhook; sealed for that webhook alone. */
  makeWebhookSecret(account: string): { readonly secret: string; readonly sealedSecret: string };
  makeOperatorToken(): { readonly token: string; readonly digest: string };
  /** Under the current pepper, then under the previous one if there is one. */
  digestsOf(token: string): string[];
  /** Whether it is the deployment's own token, current or previous; in constant time. */
  isRootToken(token: string): boolean;
  /** Of the deployment's own tokens, current and previous, under each pepper. */
  rootDigests(): string[];
  /** Names a content without telling anything of it: 64 hexadecimal characters. */
  fingerprintOf(content: string): string;
  /** Sealed for this source alone. */
  seal(credential: string, source: string): string;
  /**
   * The text of the variable NAME, or of the file that NAME_FILE names; null: neither can be read. `not_allowed`: the deployment does not
   * give this name to operators.
   */
  fromEnvironment(name: string): { readonly text: string } | 'not_allowed' | null;
}

/** Tokens that are tried, so that guessing is slow and costs no service anything. */
export interface TokenAttempts {
  /**
   * Counts a try of a token that was not right lately; false: this client has tried too many. A token that was right is not counted,
   * whoever else fails from the same network.
   */
  mayTry(token: string, client: string): boolean;
  /** Likewise the question of a service about it, of all clients together. */
  mayAsk(token: string): boolean;
  /** It was right. */
  wasRight(token: string): void;
  /** It was not, or is not any more. */
  wasWrong(token: string): void;
}

/** What every route of the operator API has at hand. */
export interface Door {
  readonly services: Services;
  /** Whose wrong tokens are bounded. */
  readonly attempts: TokenAttempts;
  readonly secrets: Secrets;
  readonly access: AccessLog;
  readonly clock: Clock;
  readonly log: Logger;
}
