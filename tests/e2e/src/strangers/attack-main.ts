import type { AttackBounds, AttackFigures, AttackTarget } from './attack.js';
import { ATTACKS, type AttackKind } from './kinds.js';

/** Parameters of an attacker, which it gets as JSON in its only argument. */
export interface AttackOrder extends AttackBounds {
  readonly kind: AttackKind;
  readonly target: AttackTarget;
}

/**
 * An attacker is a separate process, so that it does not slow down the valid load. It ends when its
 * parent does.
 */
const { kind, target, ...bounds } = JSON.parse(process.argv[2] ?? '') as AttackOrder;
const attack = ATTACKS[kind](target, bounds);
process.once('disconnect', () => attack.stop());
const figures: AttackFigures = await attack.ended;
if (process.connected) process.send?.(figures, undefined, undefined, () => process.disconnect());
