import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { gauge } from './metrics.js';

/**
 * Each reading wakes the process; a shorter interval would be most of the work of an idle process.
 * Longer delays are always measured.
 */
const RESOLUTION_MS = 500;
const NANOSECONDS_PER_SECOND = 1e9;
const RESOLUTION_NANOSECONDS = RESOLUTION_MS * 1e6;

/**
 * Starts gauges of the process: event-loop delay (since the last reading), memory and CPU time.
 * Returns a function that stops them.
 */
export function startProcessMetrics(): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  gauge(
    'gateway_event_loop_delay_seconds',
    'How late the event loop was since the last reading, by quantile',
    () => {
      // The measured value is the time between two ticks, so an idle loop measures the timer's own
      // period.
      const seconds = (nanoseconds: number) =>
        Math.max(0, nanoseconds - RESOLUTION_NANOSECONDS) / NANOSECONDS_PER_SECOND;
      const reading = [
        ['0.5', seconds(delay.percentile(50))],
        ['0.99', seconds(delay.percentile(99))],
        ['1', seconds(delay.max)],
      ] as const;
      delay.reset();
      return reading;
    },
    { label: 'quantile' },
  );
  gauge('gateway_process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
  gauge('gateway_process_heap_used_bytes', 'Used JavaScript heap', () => process.memoryUsage().heapUsed);
  gauge('gateway_process_cpu_seconds', 'Processor time since the start, user and system', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge('gateway_process_uptime_seconds', 'Time since the start', () => process.uptime());
  return () => delay.disable();
}

/**
 * Returns the memory limit of this process's container (control group version 1 or 2) in bytes;
 * undefined if it is not below the machine's memory.
 */
export function containerMemoryBytes(
  constrained: number | undefined = process.constrainedMemory(),
  machine: number = totalmem(),
): number | undefined {
  // Without a limit, Node returns 0 or a number above the memory of any machine.
  return constrained === undefined || constrained === 0 || constrained >= machine ? undefined : constrained;
}

/**
 * Returns a bound in bytes: `most`, or `part` of the container's memory if that is less.
 * @param part 0 to 1
 */
export function computeMemoryBound(most: number, part: number, container = containerMemoryBytes()): number {
  return container === undefined ? most : Math.min(most, Math.floor(container * part));
}
