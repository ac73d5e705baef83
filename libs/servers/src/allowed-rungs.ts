import { RUNGS } from './server.js';
import type { Rung } from './server.js';

const VARIABLE = 'GATEWAY_SERVERS_RUNGS';

/** The rungs that the environment allows, in the ladder's order; all when it says nothing. */
export function allowedRungs(env: NodeJS.ProcessEnv): Rung[] {
  const text = env[VARIABLE]?.trim();
  if (!text) return [...RUNGS];
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !RUNGS.some((rung) => rung === word));
  if (unknown !== undefined) throw new Error(`${VARIABLE} has "${unknown}"; possible are ${RUNGS.join(', ')}`);
  return RUNGS.filter((rung) => words.includes(rung));
}
