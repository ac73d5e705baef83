import { Button, Modal, TextInput } from '@mantine/core';
import type { KeyView, PageKey, CreatedPageKey } from '@gateway/contracts/pages';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/request.js';
import { formatUtc } from '../../format/time.js';
import { useCurrent } from '../../layout/current-account.js';
import { Notice, ErrorNotice } from '../../ui/notice.js';

/** A change of a key that waits for confirmation. */
export interface Change {
  readonly verb: 'rotate' | 'revoke';
  readonly key: PageKey;
}

interface KeyChangeProps {
  readonly change: Change | null;
  readonly onClose: () => void;
  readonly onRotated: (key: CreatedPageKey) => void;
  readonly onRevoked: () => void;
}

/** Warns, makes the change, and shows since when it is in force. The API responds only then. */
export function KeyChange({ change, onClose, onRotated, onRevoked }: KeyChangeProps) {
  return change?.verb === 'rotate' ? (
    <Rotate keyView={change.key} onClose={onClose} onRotated={onRotated} />
  ) : (
    <Revoke keyView={change?.verb === 'revoke' ? change.key : null} onClose={onClose} onRevoked={onRevoked} />
  );
}

interface RotateProps {
  readonly keyView: PageKey;
  readonly onClose: () => void;
  readonly onRotated: (key: CreatedPageKey) => void;
}

function Rotate({ keyView: key, onClose, onRotated }: RotateProps) {
  const { account } = useCurrent();
  const rotate = useMutation({
    mutationFn: () => request<CreatedPageKey>(`/accounts/${account.id}/keys/${key.id}/rotate`, { method: 'POST' }),
    onSuccess: onRotated,
  });
  return (
    <Modal opened onClose={rotate.isPending ? () => undefined : onClose} title="Rotate this secret?" size={480}>
      <div className="stack">
        <p>
          <strong className="breakable">{key.name}</strong> gets a new secret. Name, cap, allowed models and history
          stay the same.
        </p>
        <Notice tone="warn" title="The old secret stops at once">
          There is no grace period. Programs that still send <code className="code">{key.maskedSecret}</code> get{' '}
          <code className="code">401 invalid_api_key</code>. Running streams finish.
        </Notice>
        {rotate.isError && <ErrorNotice error={rotate.error} />}
      </div>
      <div className="modal-actions">
        <Button variant="default" onClick={onClose} disabled={rotate.isPending} data-autofocus>
          Cancel
        </Button>
        <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
          Rotate secret
        </Button>
      </div>
    </Modal>
  );
}

interface RevokeProps {
  readonly keyView: PageKey | null;
  readonly onClose: () => void;
  readonly onRevoked: () => void;
}

function Revoke({ keyView: key, onClose, onRevoked }: RevokeProps) {
  const { account } = useCurrent();
  const [typed, setTyped] = useState('');
  const [since, setSince] = useState<string | null>(null);
  const revoke = useMutation({
    mutationFn: () => request<KeyView>(`/accounts/${account.id}/keys/${key?.id}/revoke`, { method: 'POST' }),
    onSuccess: () => {
      setSince(new Date().toISOString());
      onRevoked();
    },
  });
  const close = () => {
    if (revoke.isPending) return;
    onClose();
    setTyped('');
    setSince(null);
    revoke.reset();
  };
  return (
    <Modal opened={key !== null} onClose={close} title={since === null ? 'Revoke this key?' : 'Key revoked'} size={480}>
      {key !== null && since === null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed === key.name) revoke.mutate();
          }}
        >
          <div className="stack">
            <Notice tone="bad" title="This can't be undone">
              All requests with the key are refused at once with <code className="code">403 key_inactive</code>,
              permanently. Its usage stays in the records. It no longer counts toward the maximum of active keys.
            </Notice>
            <TextInput
              label={
                <>
                  Type <span className="code">{key.name}</span> to confirm
                </>
              }
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
            {revoke.isError && <ErrorNotice error={revoke.error} />}
          </div>
          <div className="modal-actions">
            <Button variant="default" onClick={close} disabled={revoke.isPending}>
              Cancel
            </Button>
            <Button type="submit" variant="danger" disabled={typed !== key.name} loading={revoke.isPending}>
              Revoke key
            </Button>
          </div>
        </form>
      )}
      {key !== null && since !== null && (
        <>
          <Notice tone="good" announced title={`In force since ${formatUtc(since, true)}`}>
            <span>
              <strong className="breakable">{key.name}</strong> is refused everywhere.
            </span>
          </Notice>
          <div className="modal-actions">
            <Button onClick={close} data-autofocus>
              Done
            </Button>
          </div>
        </>
      )}
    </Modal>
  );
}
