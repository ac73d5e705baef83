import { CHAT, MESSAGES, modelCall } from './contract-call.js';
import type { ContractCall, ExpectedError, Style } from './contract-call.js';
import type { ContractSystem } from './contract-world.js';

/** A call that the gateway refuses or fails, with the error of the specification's table. */
export interface ErrorSituation {
  readonly expected: ExpectedError;
  /** Distinguishes several situations of one code. */
  readonly what?: string;
  /**
   * Arranges the situation once for both styles. Returns a function that makes the call of a style.
   */
  arrange(world: ContractSystem): Promise<(style: Style) => ContractCall>;
  /** Ends work that the situation left running. */
  end?(world: ContractSystem): void;
}

/** Returns a valid call of a model with a key. */
export function makeCall(secret: string | null, model: string, fields: object = {}): (style: Style) => ContractCall {
  return (style) => modelCall(style === 'chat' ? CHAT : MESSAGES, secret, model, fields);
}
