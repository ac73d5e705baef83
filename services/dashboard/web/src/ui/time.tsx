import { useEffect, useState } from 'react';
import { formatAgo, formatCountDown, formatLocal, formatShortUtc, formatUtc } from '../format/time.js';
import { formatUsd, formatUsdExact } from '../format/usd.js';

/** A time in UTC; the reader's local time is on hover. */
export function Time({ at, seconds = false }: { readonly at: string; readonly seconds?: boolean }) {
  return (
    <time className="num" dateTime={at} title={formatLocal(at)}>
      {formatUtc(at, seconds)}
    </time>
  );
}

/** The same for a column with UTC in its head. */
export function ShortTime({ at }: { readonly at: string }) {
  return (
    <time className="num" dateTime={at} title={`${formatUtc(at, true)} — ${formatLocal(at)}`}>
      {formatShortUtc(at, Date.now())}
    </time>
  );
}

/** How long ago a time was; both times are on hover. */
export function Ago({ at }: { readonly at: string }) {
  const now = useNow(30_000);
  return (
    <time className="num" dateTime={at} title={`${formatUtc(at, true)} — ${formatLocal(at)}`}>
      {formatAgo(at, now)}
    </time>
  );
}

/** A countdown in seconds. Not a live region, because screen readers would never be silent. */
export function CountDown({ until }: { readonly until: string }) {
  const now = useNow(1_000);
  return (
    <time className="num" dateTime={until} title={`${formatUtc(until)} — ${formatLocal(until)}`}>
      {formatCountDown(Date.parse(until), now)}
    </time>
  );
}

/** Returns the current time, refreshed every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

interface AmountProps {
  /** Decimal string of USD. */
  readonly usd: string;
  /** Shows all places, at least this many; zero has two. */
  readonly exact?: number;
}

/** An amount. A rounded one shows the exact amount on hover. */
export function Amount({ usd, exact }: AmountProps) {
  const full = formatUsdExact(usd, /[1-9]/.test(usd) ? exact : undefined);
  const shown = exact === undefined ? formatUsd(usd) : full;
  return (
    <span className="num" title={shown === full ? undefined : `exactly ${full}`}>
      {shown}
    </span>
  );
}
