import type { StartAttack } from './attack.js';
import { expensiveErrors } from './kinds/expensive-errors.js';
import { idleConnections } from './kinds/idle-connections.js';
import { inventedKeys } from './kinds/invented-keys.js';
import { chunksWithKey, chunksWithoutKey } from './kinds/one-byte-chunks.js';
import { silentPosts } from './kinds/silent-posts.js';
import { slowBodies } from './kinds/slow-bodies.js';
import { slowHeads } from './kinds/slow-heads.js';
import { slowReads } from './kinds/slow-reads.js';
import { stalledUploads } from './kinds/stalled-uploads.js';
import { wrongOperatorTokens } from './kinds/wrong-operator-tokens.js';

/** Attacks by unauthenticated clients, or with a key of the attacker. */
export const ATTACKS = {
  'slow-heads': slowHeads,
  'slow-bodies': slowBodies,
  'slow-reads': slowReads,
  'chunks-without-key': chunksWithoutKey,
  'chunks-with-key': chunksWithKey,
  'silent-posts': silentPosts,
  'idle-connections': idleConnections,
  'invented-keys': inventedKeys,
  'wrong-operator-tokens': wrongOperatorTokens,
  'stalled-uploads': stalledUploads,
  'expensive-errors': expensiveErrors,
} as const satisfies Record<string, StartAttack>;

export type AttackKind = keyof typeof ATTACKS;
export const ATTACK_KINDS = Object.keys(ATTACKS) as AttackKind[];

/**
 * Parses a list like `slow-heads,idle-connections`; default: all kinds.
 *
 * @throws RangeError if a name is unknown
 */
export function kindsFrom(text: string | undefined): AttackKind[] {
  if (text === undefined) return ATTACK_KINDS;
  return text.split(',').map((name) => {
    const kind = ATTACK_KINDS.find((one) => one === name);
    if (kind === undefined) throw new RangeError(`unknown kind ${name}; expected one of: ${ATTACK_KINDS.join(', ')}`);
    return kind;
  });
}
