/**
 * The token of a bucket: which run of the server keeps it, when it was set (epoch ms), and what no
 * other token has. Which of two runs is the later one says docs/protocol.md#r12, whatever the order
 * in which tokens are heard of.
 */
export function makeEpoch(runId: string, setAt: number, random: string): string {
  return `${runId}.${setAt}.${random}`;
}

/**
 * When a token was set, epoch ms; 0 when it does not say, as those that were set before tokens had
 * a time.
 */
export function setAtOf(token: string): number {
  const [, time, random] = token.split('.');
  return random === undefined ? 0 : Number(time) || 0;
}

/** Which run of the server keeps a token; empty: it does not say. */
export function runOf(token: string): string {
  return token.slice(0, Math.max(0, token.indexOf('.')));
}
