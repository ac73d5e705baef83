import { existsSync, readFileSync, rmSync } from 'node:fs';
import { SERVICES } from '@gateway/local';
import type { LocalSystem } from '@gateway/local';
import { until } from '@gateway/testkit';

/** Resources of an idle process after a garbage collection. */
export interface Resources {
  readonly replica: string;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly sockets: number;
  readonly timers: number;
}

interface Written {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly resources: Readonly<Record<string, number>>;
}

const SOCKETS = ['TCPSocketWrap', 'TLSWrap', 'PipeWrap'];
const TIMERS = ['Timeout', 'Immediate'];
const WRITTEN_WITHIN_MS = 20_000;

/**
 * Reads the resources of every process. The system must have been started with
 * `test/resource-counts.mjs` preloaded.
 */
export async function readResources(system: LocalSystem, directory: string): Promise<Resources[]> {
  const all: Resources[] = [];
  for (const name of SERVICES) {
    for (const [index, child] of system.children(name).entries()) {
      const replica = `${name}-${index + 1}`;
      const file = `${directory}/${replica}.json`;
      rmSync(file, { force: true });
      child.kill('SIGUSR2');
      await until(`${replica} has written its resources`, () => existsSync(file), WRITTEN_WITHIN_MS);
      const { rss, heapUsed, external, resources } = JSON.parse(readFileSync(file, 'utf8')) as Written;
      const count = (names: readonly string[]): number => names.reduce((sum, one) => sum + (resources[one] ?? 0), 0);
      all.push({
        replica,
        heapBytes: heapUsed + external,
        residentBytes: rss,
        sockets: count(SOCKETS),
        timers: count(TIMERS),
      });
    }
  }
  return all;
}
