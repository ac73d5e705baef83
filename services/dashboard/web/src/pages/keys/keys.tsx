import { Button, Switch } from '@mantine/core';
import type { PageKey, CreatedPageKey, PageKeys } from '@gateway/contracts/pages';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useKeys, useRefreshAccount } from '../../api/queries.js';
import { findAdvice } from '../../format/advice.js';
import { countOf } from '../../format/number.js';
import { useCurrent } from '../../layout/current-account.js';
import { Empty } from '../../ui/empty.js';
import { Icon } from '../../ui/icons.js';
import { Loaded } from '../../ui/loaded.js';
import { Notice } from '../../ui/notice.js';
import { Card, Page } from '../../ui/page.js';
import { CreateKey } from './create-key.js';
import { KeyChange } from './key-change.js';
import type { Change } from './key-change.js';
import { KeyTable } from './key-table.js';
import { SecretShown } from './secret-shown.js';

/** The page of keys: create, rotate and revoke. */
export function Component() {
  const { account } = useCurrent();
  const keys = useKeys(account.id);
  const refresh = useRefreshAccount(account.id);
  const [query, setQuery] = useSearchParams();
  const [change, setChange] = useState<Change | null>(null);
  const [shown, setShown] = useState<{ key: CreatedPageKey; isNew: boolean } | null>(null);
  const creation = keys.data?.creation;
  const setCreating = (creating: boolean) => setQuery(creating ? { create: '' } : {}, { replace: true });
  const show = (key: CreatedPageKey, isNew: boolean) => {
    setCreating(false);
    setChange(null);
    setShown({ key, isNew });
    void refresh();
  };
  return (
    <Page
      title="API keys"
      about="Programs send a key with every request. The limits of the account apply; a cap and a list of models restrict a key further."
      actions={
        <Button
          leftSection={<Icon name="plus" size={16} />}
          disabled={creation?.allowed !== true}
          onClick={() => setCreating(true)}
        >
          Create key
        </Button>
      }
    >
      {creation?.allowed === false && <NotAllowed creation={creation} />}
      <Loaded query={keys}>
        {(data) => <Keys keys={data} onChange={setChange} onCreate={() => setCreating(true)} />}
      </Loaded>
      {creation?.allowed === true && (
        <CreateKey
          opened={query.has('create') && shown === null}
          creation={creation}
          onClose={() => setCreating(false)}
          onCreated={(key) => show(key, true)}
        />
      )}
      <KeyChange
        change={change}
        onClose={() => setChange(null)}
        onRotated={(key) => show(key, false)}
        onRevoked={() => void refresh()}
      />
      <SecretShown shown={shown} onClose={() => setShown(null)} />
    </Page>
  );
}

interface KeysProps {
  readonly keys: PageKeys;
  readonly onChange: (change: Change) => void;
  readonly onCreate: () => void;
}

function Keys({ keys: { data, creation }, onChange, onCreate }: KeysProps) {
  const [ended, setEnded] = useState(false);
  const isEnded = ({ state }: PageKey) => state === 'revoked' || state === 'expired';
  const endedCount = data.filter(isEnded).length;
  const shown = data.filter((key) => ended || !isEnded(key)).sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  return (
    <Card
      title={`${countOf(creation.activeKeys, 'active key')} of ${creation.maxActiveKeys}`}
      about="Active and suspended keys of the whole account count; revoked keys do not"
      actions={
        endedCount > 0 && (
          <Switch
            size="sm"
            label={`Show revoked and expired (${endedCount})`}
            checked={ended}
            onChange={(event) => setEnded(event.currentTarget.checked)}
          />
        )
      }
      flush
    >
      {shown.length === 0 ? (
        <Empty
          icon="key"
          title={endedCount === 0 ? 'No keys yet' : 'No active keys'}
          actions={creation.allowed && <Button onClick={onCreate}>Create a key</Button>}
        >
          {creation.allowed
            ? 'Create a key, copy its secret, and send the first request with a snippet.'
            : 'See above what is missing to create a key.'}
        </Empty>
      ) : (
        <KeyTable keys={shown} onChange={onChange} />
      )}
    </Card>
  );
}

function NotAllowed({ creation: { code, message } }: { readonly creation: PageKeys['creation'] }) {
  const advice = code === null ? null : findAdvice(code);
  const isHere = advice?.link?.to === '/keys';
  return (
    <Notice
      tone="warn"
      title={advice?.title ?? 'Keys cannot be created now'}
      actions={
        advice?.link !== undefined &&
        !isHere && (
          <Button component={Link} to={advice.link.to} size="compact-sm" variant="default">
            {advice.link.label}
          </Button>
        )
      }
    >
      {message !== null && <div>{message}</div>}
      {advice !== null && <div className="muted">{advice.next}</div>}
    </Notice>
  );
}
