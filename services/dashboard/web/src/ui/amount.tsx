import { formatUsd, formatUsdExact } from '../format/usd.js';

interface AmountProps {
  /** Decimal string of USD. */
  readonly usd: string;
  /** All places, at least that many; two are enough for nothing at all. */
  readonly exact?: number;
}

/** An amount; a rounded one has the exact one as its hover text. */
export function Amount({ usd, exact }: AmountProps) {
  const full = formatUsdExact(usd, /[1-9]/.test(usd) ? exact : undefined);
  const shown = exact === undefined ? formatUsd(usd) : full;
  return (
    <span className="num" title={shown === full ? undefined : `exactly ${full}`}>
      {shown}
    </span>
  );
}
