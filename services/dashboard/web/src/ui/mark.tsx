import type { ReactNode } from 'react';

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'quiet';

/** A state in one or two words. The colour only supports the text. */
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
