import { Button, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AliasView } from '@gateway/contracts/pages';
import { ALIASES_KEY, useAliases } from '../../api/operator-queries.js';
import { request } from '../../api/request.js';
import { Confirm } from '../../ui/confirm.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { ErrorNotice, fieldError, isFormError } from '../../ui/notice.js';
import { Card } from '../../ui/page.js';
import { useToast } from '../../ui/toasts.js';

/** Names contain only path characters, so that they need no encoding. */
const aliasPath = (name: string) => `/operator/v1/aliases/${name}`;
const NAME = /^[A-Za-z0-9._:@/-]{1,128}$/;

/** Lists, adds and deletes aliases: names that clients may send instead of a catalog ID. */
export function Aliases() {
  const client = useQueryClient();
  const toast = useToast();
  const aliases = useAliases();
  const [deleting, setDeleting] = useState<AliasView | null>(null);
  return (
    <>
      <ListCard
        title="Aliases"
        list={aliases}
        columns={[{ label: 'Name' }, { label: 'Model' }, { label: 'Actions', silent: true, pinned: true }]}
        nouns={['alias', 'aliases']}
        empty={
          <Empty icon="models" title="No aliases yet">
            Clients send catalog IDs.
          </Empty>
        }
        row={(alias) => (
          <tr key={alias.id}>
            <th scope="row">
              <span className="code breakable">{alias.id}</span>
            </th>
            <td>
              <span className="code breakable">{alias.modelId}</span>
            </td>
            <td className="right pinned">
              <Button
                size="compact-sm"
                variant="default"
                aria-label={`Delete alias ${alias.id}`}
                onClick={() => setDeleting(alias)}
              >
                Delete
              </Button>
            </td>
          </tr>
        )}
      />
      <AddAlias />
      <Confirm
        opened={deleting !== null}
        title={`Delete alias ${deleting?.id ?? ''}?`}
        action="Delete alias"
        danger
        onClose={() => setDeleting(null)}
        onConfirm={async () => {
          await request(aliasPath(deleting?.id ?? ''), { method: 'DELETE' });
          await client.invalidateQueries({ queryKey: ALIASES_KEY });
          toast('Alias deleted');
        }}
      >
        <p>Requests with this name will get 404.</p>
      </Confirm>
    </>
  );
}

function AddAlias() {
  const client = useQueryClient();
  const toast = useToast();
  const [alias, setAlias] = useState({ id: '', modelId: '' });
  const add = useMutation({
    mutationFn: () =>
      request<AliasView>(aliasPath(alias.id), { method: 'PUT', body: { modelId: alias.modelId.trim() } }),
    async onSuccess({ id }) {
      toast(`Clients can now send ${id}`);
      setAlias({ id: '', modelId: '' });
      await client.invalidateQueries({ queryKey: ALIASES_KEY });
    },
  });
  const isNameOdd = alias.id !== '' && !NAME.test(alias.id);
  return (
    <Card title="Add an alias">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <div className="stack">
          {isFormError(add.error, ['modelId']) && <ErrorNotice error={add.error} />}
          <TextInput
            label="Alias name"
            description="The name that clients send. An existing name gets the new model."
            placeholder="gpt-6.1-terra"
            required
            maxLength={128}
            value={alias.id}
            onChange={(event) => setAlias({ ...alias, id: event.currentTarget.value.trim() })}
            error={isNameOdd ? 'Letters, digits and . _ : @ / - only' : undefined}
          />
          <TextInput
            label="Catalog ID"
            placeholder="openai/gpt-6.1-terra"
            required
            value={alias.modelId}
            onChange={(event) => setAlias({ ...alias, modelId: event.currentTarget.value })}
            error={fieldError(add.error, 'modelId')}
          />
          <div>
            <Button type="submit" loading={add.isPending} disabled={isNameOdd}>
              Add alias
            </Button>
          </div>
        </div>
      </form>
    </Card>
  );
}
