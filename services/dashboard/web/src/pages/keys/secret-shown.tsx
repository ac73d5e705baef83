import { Button, Checkbox, Modal, Tabs } from '@mantine/core';
import type { CreatedPageKey } from '@gateway/contracts/pages';
import { useState } from 'react';
import { useModels } from '../../api/queries.js';
import { codeSnippets, exportKey } from '../../format/snippets.js';
import { formatUtc } from '../../format/time.js';
import { useCurrent } from '../../layout/current-account.js';
import { CodeBlock, CopyLine } from '../../ui/copy.js';
import { Notice } from '../../ui/notice.js';
import { chooseModels } from '../quick-start/choose-models.js';

interface SecretShownProps {
  readonly shown: { readonly key: CreatedPageKey; readonly isNew: boolean } | null;
  readonly onClose: () => void;
}

/** Shows a secret once. It exists only in this dialogue and is dropped when the dialogue closes. */
export function SecretShown({ shown, onClose }: SecretShownProps) {
  return (
    <Modal
      opened={shown !== null}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title={shown?.isNew === false ? 'New secret' : 'Your new key'}
      size={640}
    >
      {shown !== null && <Secret keyView={shown.key} isNew={shown.isNew} onClose={onClose} />}
    </Modal>
  );
}

interface SecretProps {
  readonly keyView: CreatedPageKey;
  readonly isNew: boolean;
  readonly onClose: () => void;
}

function Secret({ keyView: { name, secret, allowedModels, inForce }, isNew, onClose }: SecretProps) {
  const { account, config } = useCurrent();
  const models = useModels(account.id);
  const [kept, setKept] = useState(false);
  const [since] = useState(() => new Date().toISOString());
  const snippets = codeSnippets({ ...config, ...chooseModels(models.data ?? [], allowedModels) }).filter(
    ({ id }) => id !== 'messages',
  );
  if (secret === null) {
    return (
      <>
        <Notice tone="warn" title="The secret cannot be shown again">
          It was shown before. Rotate the key to get a new secret.
        </Notice>
        <div className="modal-actions">
          <Button onClick={onClose}>Close</Button>
        </div>
      </>
    );
  }
  return (
    <>
      <div className="stack loose">
        <Notice tone="warn" announced title="Copy it now. It is shown only once.">
          Only a digest is stored. If it is lost, rotate the key.
          {!isNew && inForce && (
            <div>In force since {formatUtc(since, true)}. The old secret is refused everywhere.</div>
          )}
        </Notice>
        {!inForce && (
          <Notice tone="warn" announced title="Saved, but not yet in force everywhere">
            The new secret takes effect shortly. Until then, requests with it may be refused, and the old secret may
            still be accepted.
          </Notice>
        )}
        <div className="stack tight">
          <h3 className="breakable">{name}</h3>
          <CopyLine text={secret} label="Copy the secret" />
        </div>
        <div className="stack tight">
          <h3>Use it</h3>
          <CodeBlock code={exportKey(secret)} label="Environment variable" />
          <Tabs defaultValue="curl">
            <Tabs.List aria-label="Language">
              {snippets.map(({ id, label }) => (
                <Tabs.Tab key={id} value={id}>
                  {label}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            {snippets.map(({ id, label, code }) => (
              <Tabs.Panel key={id} value={id} pt={10}>
                <CodeBlock code={code} label={`${label} snippet`} />
              </Tabs.Panel>
            ))}
          </Tabs>
        </div>
        <Checkbox
          label="I have stored the secret in a safe place"
          checked={kept}
          onChange={(event) => setKept(event.currentTarget.checked)}
        />
      </div>
      <div className="modal-actions">
        <Button disabled={!kept} onClick={onClose}>
          Done
        </Button>
      </div>
    </>
  );
}
