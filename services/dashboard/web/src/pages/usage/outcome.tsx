import type { PageUsageRecord } from '@gateway/contracts/pages';
import { StateBadge } from '../../ui/meter.js';

const OUTCOMES = {
  settled: { tone: 'quiet', word: 'Billed', about: 'The response was complete, or the client disconnected.' },
  voided: { tone: 'bad', word: 'Failed', about: 'No provider completed a response; nothing is charged.' },
  expired: {
    tone: 'warn',
    word: 'Lost',
    about: 'A part of the gateway failed during the request; nothing is charged.',
  },
} as const;

/** The outcome of a request for billing. */
export function Outcome({ outcome }: { readonly outcome: PageUsageRecord['outcome'] }) {
  const { tone, word, about } = OUTCOMES[outcome];
  return (
    <span title={about}>
      <StateBadge tone={tone}>{word}</StateBadge>
    </span>
  );
}

/** Returns the sentence that explains an outcome. */
export function outcomeAbout(outcome: PageUsageRecord['outcome']): string {
  return OUTCOMES[outcome].about;
}
