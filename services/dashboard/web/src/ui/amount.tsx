import { formatUsd, formatUsdExact } from '../format/usd.js';

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
