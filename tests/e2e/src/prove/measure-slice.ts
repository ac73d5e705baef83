import type { ClientCall, Evidence, JoinedCall } from '../faults/evidence.js';
import { joinLogs } from '../faults/join-logs.js';
import { isLostWithLimitStore } from '../faults/judge-call.js';
import type { RunUnderFaults } from '../faults/run-faults.js';
import type { SliceFigures } from './faults-figures.js';

/** Codes of a 500 that only a fault of the gateway causes. */
export const FAULT_CODES = /^(admission_error|lookup_failed|catalog_error|usage_unavailable)$/;

/** Computes the results of one run under faults. */
export function measureSlice({ evidence, check, ms }: RunUnderFaults): SliceFigures {
  const faults: Record<string, number[]> = {};
  for (const fault of evidence.faults) (faults[nameOf(fault)] ??= []).push(fault.until - fault.from);
  return { ms, differences: check.violations.length, faults, calls: countCalls(evidence) };
}

/** Replaces the replica of a process or link by its service. */
function nameOf({ what, target }: Evidence['faults'][number]): string {
  return `${what} ${target.replace(/-\d+$/, '')}`;
}

function countCalls(evidence: Evidence): Record<string, number> {
  const { calls, records, provider, faults } = evidence;
  const isLost = (joined: JoinedCall): boolean => joined.provider.length > 0 && isLostWithLimitStore(joined, faults);
  const count = (is: (call: ClientCall) => boolean): number => calls.filter(is).length;
  const outcome = (name: string): number => records.filter((record) => record.outcome === name).length;
  const isFault = ({ status, code }: ClientCall): boolean => status === 500 && FAULT_CODES.test(code ?? '');
  const isDuring = ({ begunAt, endedAt }: ClientCall): boolean =>
    faults.some(({ from, until }) => from <= endedAt && until >= begunAt);
  return {
    made: calls.length,
    'of them streamed': count(({ streamed }) => streamed),
    'complete for their clients': count(({ ending }) => ending === 'whole'),
    'abandoned by their clients': count(({ ending }) => ending === 'left'),
    cut: count(({ ending }) => ending === 'cut'),
    refused: count(({ ending }) => ending === 'refused'),
    '500 because of the gateway': count(isFault),
    'of them outside any fault': count((call) => isFault(call) && !isDuring(call)),
    'attempts at the provider': provider.length,
    'records settled': outcome('settled'),
    'records voided': outcome('voided'),
    'records expired': outcome('expired'),
    'lost with an edge and the limit store': joinLogs(evidence).calls.filter(isLost).length,
  };
}
