import type { PageUsageRecord } from '@gateway/contracts/pages';
import { Mark } from '../../ui/mark.js';

const OUTCOMES = {
  settled: { tone: 'quiet', word: 'Billed', about: 'The answer was complete, or the client left it.' },
  voided: { tone: 'bad', word: 'Failed', about: 'No complete answer came from a provider; nothing is charged.' },
  expired: { tone: 'warn', word: 'Lost', about: 'A part of the gateway failed during the call; nothing is charged.' },
} as const;

/** How a call ended, for the bill. */
export function Outcome({ outcome }: { readonly outcome: PageUsageRecord['outcome'] }) {
  const { tone, word, about } = OUTCOMES[outcome];
  return (
    <span title={about}>
      <Mark tone={tone}>{word}</Mark>
    </span>
  );
}

/** The sentence for it. */
export function outcomeAbout(outcome: PageUsageRecord['outcome']): string {
  return OUTCOMES[outcome].about;
}
