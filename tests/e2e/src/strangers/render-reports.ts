import type { StrangersSeen } from './attack-in-turn.js';
import { MEMORY_JUDGED_MS_MIN } from './judge-strangers.js';
import { renderKinds, renderMemory } from './render-strangers.js';

export interface VerificationFigures {
  readonly minutes: number;
  readonly hops: number;
  readonly seed: number;
  readonly secondsEach: number;
  /** One sentence per violation. */
  readonly wrong: readonly string[];
  readonly seen: StrangersSeen;
}

const COLUMNS = `Connections: made by the attacker, and most at a time; answered: what it was told, by status. Calls, pages, requests of operators
and first calls with keys just made: not served, of those that began in the time of the kind. Slowest: of calls and pages. MB: most that
the process had resident.`;

/** Renders the results of a verification as Markdown, without a date. */
export function renderVerification({ minutes, hops, seed, secondsEach, wrong, seen }: VerificationFigures): string {
  const judged = seen.lengthMs >= MEMORY_JUDGED_MS_MIN ? 'at most 1.1' : 'not judged in less than 30 minutes';
  const options = `--minutes ${minutes}${hops === 0 ? '' : ` --hops ${hops}`} --seed ${seed}`;
  return `# Strangers${hops === 0 ? '' : ' behind one trusted hop'}

\`npm run prove:strangers -- ${options}\`: one replica of each service, attacked from 127.0.0.1${hops === 0 ? '' : ', through a proxy that appends to X-Forwarded-For,'} while 50 calls a second, readers
of pages and operators come from 127.0.0.2 and up, each request on a connection of its own. The kinds take turns, ${secondsEach.toFixed(1)} s each,
in twelve rounds of another order each.

${COLUMNS}

${renderKinds(seen)}

What each process had resident, as means: from a twelfth to a quarter of the time (of an hour minutes five to fifteen), and in the last
sixth. Its bound: ${judged}.

${renderMemory(seen)}

What did not hold: ${wrong.length === 0 ? 'nothing' : `${wrong.join('; ')}`}.
`;
}
