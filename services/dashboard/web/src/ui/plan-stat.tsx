import type { OverviewView } from '@gateway/contracts/pages';
import type { ReactNode } from 'react';
import { StateBadge } from './meter.js';
import { Stat } from './page.js';

interface PlanStatProps {
  readonly plan: OverviewView['plan'];
  readonly note: ReactNode;
}

/** The plan of an account, or pay as you go. */
export function PlanStat({ plan, note }: PlanStatProps) {
  return (
    <Stat
      label={
        <>
          Plan
          {plan !== null && (
            <StateBadge tone="accent" plain>
              {plan.tier}
            </StateBadge>
          )}
        </>
      }
      value={plan === null ? 'Pay as you go' : plan.name}
      note={note}
    />
  );
}
