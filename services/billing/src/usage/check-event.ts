import {
  figuresOfVersion,
  type PricedVersion,
  type UsageEvent,
  type WireTokenUsage,
} from '@gateway/contracts/messages';
import { type NanoUsd, rate } from '@gateway/metering';
import type { SetAsideReason } from '../ledger/rules.js';

export interface Problem {
  readonly reason: SetAsideReason;
  readonly detail: string;
}

/**
 * What is wrong with an event whose form is right; null: it may become a record. Billing rates again what the edge rated
 * (docs/protocol.md#r7): an amount that differs is set aside, never corrected by guess.
 */
export function problemOf(event: UsageEvent): Problem | null {
  const { hold, outcome, rank, price } = event;
  const wrong = (detail: string): Problem => ({ reason: 'contradiction', detail });
  if ((rank === 1) !== (outcome === 'expired')) return wrong(`rank ${rank} is not the rank of ${outcome}`);
  if (price !== null && price.version !== hold.priceVersion) return wrong('the price is not the version of the hold');
  if (outcome === 'settled' && price === null) return wrong('a settled call has no price');
  const planFunded = isPlanFunded(event);
  if (!planFunded && (hold.planMaxNanoUsd > 0 || hold.windows.length > 0 || hold.allotment !== null))
    return wrong('a wallet-funded call has parts of a plan');
  if (planFunded && hold.periods.subscription === null) return wrong('a plan-funded call has no subscription period');
  if (hold.windows.some(({ type }) => type === 'weekly') && hold.periods.weekly === null)
    return wrong('a weekly window has no week');
  const expected = expectedAmount(event);
  if (expected === BigInt(event.amountNanoUsd)) return null;
  return { reason: 'amount', detail: `the event says ${event.amountNanoUsd}, usage and price give ${expected}` };
}

/** Wallet-funded calls have no bound on the wallet's part (docs/protocol.md#r7). */
export function isPlanFunded(event: UsageEvent): boolean {
  return event.hold.walletMaxNanoUsd !== null;
}

/** A usage rated with a price or cost version of the wire. */
export function rateWire(usage: WireTokenUsage, version: PricedVersion): NanoUsd {
  return rate(usage, figuresOfVersion(version));
}

function expectedAmount({ outcome, usage, price }: UsageEvent): NanoUsd {
  if (outcome !== 'settled' || usage === null || price === null) return 0n;
  return rateWire(usage, price);
}
