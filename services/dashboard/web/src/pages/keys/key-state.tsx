import type { PageKey } from '@gateway/contracts/pages';
import { Mark } from '../../ui/mark.js';
import type { Tone } from '../../ui/mark.js';

const STATES: Readonly<Record<PageKey['state'], { readonly tone: Tone; readonly word: string }>> = {
  active: { tone: 'good', word: 'Active' },
  suspended: { tone: 'warn', word: 'Suspended' },
  revoked: { tone: 'quiet', word: 'Revoked' },
  expired: { tone: 'quiet', word: 'Expired' },
};

/** The state of a key as a word. */
export function KeyState({ state }: { readonly state: PageKey['state'] }) {
  return <Mark tone={STATES[state].tone}>{STATES[state].word}</Mark>;
}
