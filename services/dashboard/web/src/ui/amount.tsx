import { formatUsd, formatUsdExact } from '../format/usd.js';

interface AmountProps {
  /** Decimal string of USD. */
  readonly usd: string;
  /** All places, at least that many. */
  readonly exact?: number;
}

/** An amount; a rounded one has the exact one as its hover text. */
export function Amount({ usd, exact }: AmountProps) {
  const full = formatUsdExact(usd, exact);
  const shown = exact === undefined ? formatUsd(usd) : full;
  return (
    <span className="num" title={shown === full ? undefined : `exactly ${full}`}>
      {shown}
    </span>
  );
}
