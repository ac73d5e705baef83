import type { Host } from './host.js';

/** An event at a virtual time, in a host or (null) outside all hosts. */
export interface TimedEvent {
  at: number;
  /** Orders events of the same time by when they were planned. */
  readonly order: number;
  readonly host: Host | null;
  readonly happen: () => void;
  isCancelled: boolean;
}

/** A binary heap ordered by time and `order`. */
export class EventQueue {
  readonly #heap: TimedEvent[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(event: TimedEvent): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above] as TimedEvent;
      if (!isBefore(event, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = event;
  }

  pop(): TimedEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as TimedEvent)) child += 1;
      const smaller = heap[child] as TimedEvent;
      if (!isBefore(smaller, last)) break;
      heap[at] = smaller;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: TimedEvent, other: TimedEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
