// An attacker is a separate process, so that it does not slow down the valid load. It gets its
// order as JSON in its only argument and ends when its parent does.
import { startAttack } from './attacks.js';
import type { AttackOrder } from './attack-in-turn.js';

const { kind, target, ...bounds } = JSON.parse(process.argv[2] ?? '') as AttackOrder;
const attack = startAttack(kind, target, bounds);
process.once('disconnect', () => attack.stop());
const figures = await attack.ended;
if (process.connected) process.send?.(figures, undefined, undefined, () => process.disconnect());
