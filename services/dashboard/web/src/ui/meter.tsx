import type { ReactNode } from 'react';

interface MeterProps {
  /** Text for screen readers. */
  readonly label: string;
  /** 0 to 100. */
  readonly percent: number;
}

/** The used share of a limit. Changes its colour from 75 percent. */
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

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet';

/** A state in one or two words. The colour only supports the text. */
export function StateBadge({
  tone = 'quiet',
  plain = false,
  children,
}: {
  tone?: Tone;
  plain?: boolean;
  children: ReactNode;
}) {
  return <span className={`mark ${tone}${plain ? ' plain' : ''}`}>{children}</span>;
}
