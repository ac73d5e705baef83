interface MeterProps {
  /** What it measures, for those who do not see it. */
  readonly label: string;
  /** 0 to 100. */
  readonly percent: number;
}

/** How much of a limit is used; it warns from 75 percent on. */
export function Meter({ label, percent }: MeterProps) {
  const tone = percent >= 90 ? 'bad' : percent >= 75 ? 'warn' : '';
  return (
    <div
      className="meter"
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div className={`meter-fill ${tone}`} style={{ width: `${Math.min(100, Math.max(0, percent))}%` }} />
    </div>
  );
}
