import { Button, Modal, Switch, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { WebhookView } from '@gateway/contracts/pages';
import { useRefreshAccount, useWebhook } from '../../api/queries.js';
import { request } from '../../api/request.js';
import { useCurrent } from '../../layout/current-account.js';
import { Confirm } from '../../ui/confirm.js';
import { CopyLine } from '../../ui/copy.js';
import { Loaded } from '../../ui/loaded.js';
import { ErrorNotice, Notice, fieldError, isFormError } from '../../ui/notice.js';
import { Card } from '../../ui/page.js';
import { useToast } from '../../ui/toasts.js';
import { Deliveries } from './deliveries.js';

type WithSecret = WebhookView & { readonly secret: string | null };

export function Webhook() {
  const { account } = useCurrent();
  const webhook = useWebhook(account.id);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <>
      <Card
        title="Webhook"
        about="Each alert is sent as a signed JSON POST to your HTTPS address, with retries for three days"
      >
        <Loaded query={webhook} lines={3}>
          {(data) => <WebhookForm key={data?.changedAt ?? 'none'} webhook={data} onSecret={setSecret} />}
        </Loaded>
      </Card>
      {webhook.data != null && <Deliveries />}
      <Modal opened={secret !== null} onClose={() => setSecret(null)} title="Signing secret" size={560}>
        <div className="stack">
          <Notice tone="warn" announced title="Copy it now. It is shown only once.">
            Your receiver needs it to verify that an event comes from this gateway.
          </Notice>
          {secret !== null && <CopyLine text={secret} label="Copy the signing secret" />}
        </div>
        <div className="modal-actions">
          <Button onClick={() => setSecret(null)}>Done</Button>
        </div>
      </Modal>
    </>
  );
}

interface WebhookFormProps {
  readonly webhook: WebhookView | null;
  readonly onSecret: (secret: string) => void;
}

function WebhookForm({ webhook, onSecret }: WebhookFormProps) {
  const { account } = useCurrent();
  const refresh = useRefreshAccount(account.id);
  const toast = useToast();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [enabled, setEnabled] = useState(webhook?.enabled ?? true);
  const [asking, setAsking] = useState<'rotate' | 'delete' | null>(null);
  const path = `/accounts/${account.id}/webhook`;
  const save = useMutation({
    mutationFn: () => request<WithSecret>(path, { method: 'PUT', body: { url: url.trim(), enabled } }),
    async onSuccess(saved) {
      if (saved.secret !== null) onSecret(saved.secret);
      else toast('Webhook saved');
      await refresh();
    },
  });
  const rotate = async () => {
    const rotated = await request<WithSecret>(`${path}/rotate-secret`, { method: 'POST' });
    if (rotated.secret !== null) onSecret(rotated.secret);
    await refresh();
  };
  const remove = async () => {
    await request(path, { method: 'DELETE' });
    toast('Webhook removed');
    await refresh();
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      {isFormError(save.error, ['url']) && <ErrorNotice error={save.error} />}
      <TextInput
        label="Address"
        type="url"
        required
        placeholder="https://example.com/hooks/gateway"
        description="HTTPS, not a private address"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
        error={fieldError(save.error, 'url')}
      />
      <Switch label="Deliver events" checked={enabled} onChange={(event) => setEnabled(event.currentTarget.checked)} />
      <div className="row">
        <Button type="submit" loading={save.isPending}>
          {webhook === null ? 'Add webhook' : 'Save'}
        </Button>
        {webhook !== null && (
          <>
            <Button variant="default" onClick={() => setAsking('rotate')}>
              Rotate secret
            </Button>
            <Button variant="danger" onClick={() => setAsking('delete')}>
              Remove
            </Button>
          </>
        )}
      </div>
      <Confirm
        opened={asking === 'rotate'}
        title="Rotate the signing secret?"
        action="Rotate secret"
        onClose={() => setAsking(null)}
        onConfirm={rotate}
      >
        <p>All later attempts are signed with the new secret. A receiver with the old secret will refuse them.</p>
      </Confirm>
      <Confirm
        opened={asking === 'delete'}
        title="Remove the webhook?"
        action="Remove"
        danger
        onClose={() => setAsking(null)}
        onConfirm={remove}
      >
        <p>Pending events are dropped. Alerts are still listed here and sent by email.</p>
      </Confirm>
    </form>
  );
}
