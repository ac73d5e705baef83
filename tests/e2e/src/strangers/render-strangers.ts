import { renderTable } from '@gateway/testkit';
import type { AttackSeen, StrangersSeen } from './attack-in-turn.js';
import { residentMeans } from './judge-strangers.js';
import { sumOf, wrongOf, type GoodCount } from './tally.js';

const MEGABYTE = 1024 * 1024;

/** Renders one row for each kind of attack, in the order of their first attacks. */
export function renderKinds({ attacks, memory }: StrangersSeen): string {
  const kinds = [...new Set(attacks.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => {
    const of = attacks.filter((one) => one.kind === kind);
    const good = sumOf(of.map((one) => one.good));
    return [
      kind,
      thousands(sum(of.map(({ figures }) => figures?.connections ?? 0))),
      thousands(Math.max(...of.map(({ figures }) => figures?.connectionsMost ?? 0))),
      answersOf(of),
      ...[good.calls, good.pages, good.operators, good['new keys']].map(servedOf),
      seconds(Math.max(good.calls.slowestMs, good.pages.slowestMs)),
      peakOf('edge-proxy-1', of, memory),
      peakOf('dashboard-1', of, memory),
    ];
  });
  const head = ['Attack', 'connections', 'concurrent', 'responses', 'requests', 'pages', 'operators', 'new keys'];
  return renderTable([...head, 'slowest s', 'edge MB', 'dashboard MB'], rows);
}

/** Renders the resident memory of each process when it was warm and at the end. */
export function renderMemory(seen: StrangersSeen): string {
  const rows = residentMeans(seen).map(({ replica, warm, last }) => [
    replica,
    (warm / MEGABYTE).toFixed(0),
    (last / MEGABYTE).toFixed(0),
    (last / warm).toFixed(2),
  ]);
  return renderTable(['Process', 'warm MB', 'last MB', 'ratio'], rows);
}

/** Formats the failed requests: their number, the total, and the failures. */
function servedOf(count: GoodCount): string {
  const wrong = Object.entries(count.wrong).map(([outcome, n]) => `${n} ${outcome}`);
  return `${thousands(wrongOf(count))} of ${thousands(count.asked)}${wrong.length === 0 ? '' : ` (${wrong.join(', ')})`}`;
}

function answersOf(attacks: readonly AttackSeen[]): string {
  const all: Record<string, number> = {};
  for (const { figures } of attacks) {
    for (const [status, n] of Object.entries(figures?.answers ?? {})) all[status] = (all[status] ?? 0) + n;
  }
  return Object.entries(all)
    .map(([status, n]) => `${thousands(n)} ${status}`)
    .join(', ');
}

/** Formats the highest resident memory of a process during these attacks. */
function peakOf(replica: string, attacks: readonly AttackSeen[], memory: StrangersSeen['memory']): string {
  const within = memory.filter(
    (one) => one.replica === replica && attacks.some(({ fromMs, toMs }) => one.atMs >= fromMs && one.atMs <= toMs),
  );
  return Math.round(Math.max(0, ...within.map(({ bytes }) => bytes)) / MEGABYTE).toString();
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const thousands = (count: number): string => count.toLocaleString('en');
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
