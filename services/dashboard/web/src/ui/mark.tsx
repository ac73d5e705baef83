import type { ReactNode } from 'react';

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet';

/** A state in one or two words; the words say it, the colour only helps. */
export function Mark({
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
