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

const COLUMNS = `Connections: made by the attacker, and the most at the same time; responses: their number by status. Model requests, pages,
operator requests and first requests with new keys: the failed ones of those that began during the attack. Slowest: of model requests and
pages. MB: most resident memory of the process.`;

/** Renders the results of a verification as Markdown, without a date. */
export function renderVerification({ minutes, hops, seed, secondsEach, wrong, seen }: VerificationFigures): string {
  const judged = seen.lengthMs >= MEMORY_JUDGED_MS_MIN ? 'at most 1.1' : 'not judged in less than 30 minutes';
  const options = `--minutes ${minutes}${hops === 0 ? '' : ` --hops ${hops}`} --seed ${seed}`;
  return `# Unauthenticated clients${hops === 0 ? '' : ' behind one trusted hop'}

\`npm run prove:strangers -- ${options}\`: one replica of each service, attacked from 127.0.0.1${hops === 0 ? '' : ', through a proxy that appends to X-Forwarded-For,'} during 50 requests per
second, page views and operator requests from 127.0.0.2 and up, each on a separate connection. The attacks take turns, ${secondsEach.toFixed(1)} s each,
in twelve rounds, each in a different order.

${COLUMNS}

${renderKinds(seen)}

Mean resident memory of each process from a twelfth to a quarter of the time (minutes five to fifteen of an hour), and in the last
sixth. Limit of the ratio: ${judged}.

${renderMemory(seen)}

Violations: ${wrong.length === 0 ? 'none' : `${wrong.join('; ')}`}.
`;
}
