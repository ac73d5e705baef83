import { Button } from '@mantine/core';
import type { OverviewView } from '@gateway/contracts/pages';
import { Link } from 'react-router';
import { useKeys } from '../../api/queries.js';
import { parseNano } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { Icon } from '../../ui/icons.js';
import { Card } from '../../ui/page.js';

interface Step {
  readonly title: string;
  readonly about: string;
  readonly isDone: boolean;
  readonly link?: { readonly to: string; readonly label: string };
}

/** The way from a new account to its first call; gone when it is walked. */
export function FirstSteps({ overview }: { readonly overview: OverviewView }) {
  const { account, user, isManager } = useCurrent();
  const keys = useKeys(account.id);
  if (keys.data === undefined) return null;
  const used = keys.data.data.some(({ lastUsedAt, state }) => lastUsedAt !== null || state === 'revoked');
  if (used) return null;
  const steps = stepsOf(overview, user.emailVerified, keys.data.data.length > 0, isManager);
  const now = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Card title="Get started" about="Four steps to the first call" flush>
      <ol className="steps">
        {steps.map(({ title, about, isDone, link }, index) => (
          <li key={title} className={isDone ? 'done' : index === now ? 'now' : undefined}>
            <span className="dot" aria-hidden="true">
              {isDone ? <Icon name="check" size={14} /> : index + 1}
            </span>
            <h3>
              {title}
              {isDone && <span className="hidden-text"> — done</span>}
            </h3>
            <p>{about}</p>
            {index === now && link !== undefined && (
              <Button component={Link} to={link.to} size="xs">
                {link.label}
              </Button>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}

function stepsOf(overview: OverviewView, isVerified: boolean, hasKey: boolean, isManager: boolean): Step[] {
  const { balanceUsd } = overview.wallet;
  const isFunded = overview.plan !== null || (balanceUsd !== null && parseNano(balanceUsd) > 0n);
  return [
    { title: 'Verify your address', about: 'Open the link in the mail we sent you.', isDone: isVerified },
    {
      title: 'Add funds',
      about: 'A plan, or a balance in the wallet.',
      isDone: isFunded,
      ...(isManager ? { link: { to: '/billing', label: 'How to add funds' } } : {}),
    },
    {
      title: 'Create a key',
      about: 'Its secret is shown once; copy it then.',
      isDone: hasKey,
      link: { to: '/keys?create', label: 'Create a key' },
    },
    {
      title: 'Make the first call',
      about: 'Snippets with the addresses of this gateway.',
      isDone: false,
      link: { to: '/quick-start', label: 'Open quick start' },
    },
  ];
}
