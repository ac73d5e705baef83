import { Button } from '@mantine/core';
import { Link } from 'react-router';
import { useKeys } from '../../api/queries.js';
import { useCurrent } from '../../layout/current-account.js';
import { Icon } from '../../ui/icons.js';
import { Card } from '../../ui/page.js';

interface Step {
  readonly title: string;
  readonly about: string;
  readonly isDone: boolean;
  readonly link?: { readonly to: string; readonly label: string };
}

/**
 * The steps from a new account to its first request; hidden once a key was used. A null `isFunded`
 * omits the funding step, for members.
 */
export function FirstSteps({ isFunded }: { readonly isFunded: boolean | null }) {
  const { account, user } = useCurrent();
  const keys = useKeys(account.id);
  if (keys.data === undefined) return null;
  const used = keys.data.data.some(({ lastUsedAt, state }) => lastUsedAt !== null || state === 'revoked');
  if (used) return null;
  const steps = stepsOf(isFunded, user.emailVerified, keys.data.data.length > 0);
  const now = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Card title="Get started" about={`${steps.length} steps to the first request`} flush>
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

function stepsOf(isFunded: boolean | null, isVerified: boolean, hasKey: boolean): Step[] {
  return [
    { title: 'Verify your address', about: 'Open the link in the email we sent you.', isDone: isVerified },
    ...(isFunded === null
      ? []
      : [
          {
            title: 'Add funds',
            about: 'Subscribe to a plan, or add funds to the wallet.',
            isDone: isFunded,
            link: { to: '/billing', label: 'How to add funds' },
          },
        ]),
    {
      title: 'Create a key',
      about: 'Copy its secret; it is shown only once.',
      isDone: hasKey,
      link: { to: '/keys?create', label: 'Create a key' },
    },
    {
      title: 'Send the first request',
      about: 'Snippets with the addresses of this gateway.',
      isDone: false,
      link: { to: '/quick-start', label: 'Open quick start' },
    },
  ];
}
