import { CHAT, MESSAGES, modelCall } from './contract-call.js';
import type { ContractCall, ExpectedError, Style } from './contract-call.js';
import type { ContractWorld } from './contract-world.js';

/** A call that the gateway itself refuses, in the words of the specification's error table. */
export interface ErrorSituation {
  readonly expected: ExpectedError;
  /** What the row is about, where a code has several. */
  readonly what?: string;
  /** Makes the situation, once for both styles; gives the call of a style. */
  arrange(world: ContractWorld): Promise<(style: Style) => ContractCall>;
  /** Ends what the situation left running. */
  end?(world: ContractWorld): void;
}

/** An ordinary call of a key on a model. */
export function callOf(secret: string | null, model: string, fields: object = {}): (style: Style) => ContractCall {
  return (style) => modelCall(style === 'chat' ? CHAT : MESSAGES, secret, model, fields);
}
