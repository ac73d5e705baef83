import { useEffect, useState } from 'react';
import { formatAgo, formatCountDown, formatLocal, formatShortUtc, formatUtc } from '../format/time.js';

/** An instant in UTC; the reader's own time on hover. */
export function Time({ at, seconds = false }: { readonly at: string; readonly seconds?: boolean }) {
  return (
    <time className="num" dateTime={at} title={formatLocal(at)}>
      {formatUtc(at, seconds)}
    </time>
  );
}

/** The same in a column whose head says UTC. */
export function ShortTime({ at }: { readonly at: string }) {
  return (
    <time className="num" dateTime={at} title={`${formatUtc(at, true)} — ${formatLocal(at)}`}>
      {formatShortUtc(at, Date.now())}
    </time>
  );
}

/** How long ago; both times on hover. */
export function Ago({ at }: { readonly at: string }) {
  const now = useNow(30_000);
  return (
    <time className="num" dateTime={at} title={`${formatUtc(at, true)} — ${formatLocal(at)}`}>
      {formatAgo(at, now)}
    </time>
  );
}

/**
 * Time that is left, counted down by the second. It is no live region: it would never be silent.
 */
export function CountDown({ until }: { readonly until: string }) {
  const now = useNow(1_000);
  return (
    <time className="num" dateTime={until} title={`${formatUtc(until)} — ${formatLocal(until)}`}>
      {formatCountDown(Date.parse(until), now)}
    </time>
  );
}

/** The present, renewed every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
