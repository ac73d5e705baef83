import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import type { Pinning } from './pin.js';

const GIB = 1024 ** 3;

/** Returns facts about the machine for the report, as names and texts. */
export function machineFacts(pinning: Pinning): [string, string][] {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  const placed = pinning.pinned
    ? 'the peer under test (the gateway with all its processes and servers) on core 0; load generator, provider and measurement on core 1'
    : `not pinned: ${pinning.reason}`;
  return [
    ['Machine', `${availableParallelism()} cores (${model}), ${Math.round(totalmem() / GIB)} GiB, Linux ${release()}`],
    ['Node', process.version],
    ['Placement', placed],
    ['Load of the machine before', `${loadAverage()} (1, 5 and 15 minutes)`],
  ];
}

function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(', ');
}
