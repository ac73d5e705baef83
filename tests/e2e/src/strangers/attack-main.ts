import type { AttackBounds, AttackFigures, AttackTarget } from './attack.js';
import { ATTACKS, type AttackKind } from './kinds.js';

/** What an attacker is told, as its only argument in JSON. */
export interface AttackOrder extends AttackBounds {
  readonly kind: AttackKind;
  readonly target: AttackTarget;
}

/**
 * An attacker is a process of its own, so that its work delays nobody who counts good calls. It
 * ends with whoever started it.
 */
const { kind, target, ...bounds } = JSON.parse(process.argv[2] ?? '') as AttackOrder;
const attack = ATTACKS[kind](target, bounds);
process.once('disconnect', () => attack.stop());
const figures: AttackFigures = await attack.ended;
if (process.connected) process.send?.(figures, undefined, undefined, () => process.disconnect());
