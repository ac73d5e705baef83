import { Button, Tabs } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'react-router';
import { useKeys, useModels } from '../../api/queries.js';
import { codeSnippets, exportKey, toolSnippets } from '../../format/snippets.js';
import type { Snippet } from '../../format/snippets.js';
import { useCurrent } from '../../layout/current-account.js';
import { CodeBlock, CopyLine } from '../../ui/copy.js';
import { Notice } from '../../ui/notice.js';
import { Card, Page } from '../../ui/page.js';
import { Picker } from '../../ui/picker.js';
import { chooseModels } from './choose-models.js';

/** Base URLs and snippets with this deployment's addresses. */
export function Component() {
  const { account, config } = useCurrent();
  const models = useModels(account.id);
  const keys = useKeys(account.id);
  const suggested = chooseModels(models.data ?? []);
  const [chosen, setChosen] = useState<string | null>(null);
  const model = chosen ?? suggested.model;
  const facts = { ...config, ...suggested, model };
  const hasKey = keys.data?.data.some(({ state }) => state === 'active') ?? true;
  const callable = (models.data ?? []).filter(({ kind, prices }) => kind === 'chat' && prices !== null);
  return (
    <Page
      title="Quick start"
      about="Point any OpenAI or Anthropic client at this gateway: change the base URL, the key and the model name."
    >
      {!hasKey && (
        <Notice
          tone="info"
          title="You need a key first"
          actions={
            <Button component={Link} to="/keys?create" size="compact-sm">
              Create a key
            </Button>
          }
        >
          The snippets read it from an environment variable.
        </Notice>
      )}
      <div className="grid-halves">
        <Card title="Chat completions" about="OpenAI clients and most tools; the path begins with /chat/completions">
          <CopyLine text={config.chatBaseUrl} label="Copy the base URL of chat completions" />
        </Card>
        <Card title="Messages" about="Anthropic clients; they add /v1/messages themselves">
          {config.messagesBaseUrl === null ? (
            <p className="muted">Disabled on this gateway. Use chat completions.</p>
          ) : (
            <CopyLine text={config.messagesBaseUrl} label="Copy the base URL of messages" />
          )}
        </Card>
      </div>
      <Card title="1. Set the key" about="In the environment of the program, never in a browser or a repository">
        <CodeBlock code={exportKey(`${config.keyPrefix}…`)} label="Environment variable" />
      </Card>
      <Card
        title="2. Send a request"
        actions={
          <Picker
            aria-label="Model of the snippets"
            size="xs"
            w={240}
            allowDeselect={false}
            data={callable.map(({ id }) => ({ value: id, label: id }))}
            value={model}
            onChange={setChosen}
          />
        }
      >
        <SnippetTabs label="Language" snippets={codeSnippets(facts)} />
      </Card>
      <Card
        title="3. Use it in your tools"
        about="Always set model names with their publisher, because tools use plain names by default"
      >
        <SnippetTabs label="Tool" snippets={toolSnippets(facts)} />
      </Card>
      <p className="muted small">
        If the first request gets <code className="code">404 unsupported_endpoint</code>, check the base URL: with{' '}
        <code className="code">/v1</code> for chat completions, without for messages. Every response has the header{' '}
        <code className="code">x-gateway-request-id</code>. Look it up under <Link to="/usage">usage</Link>.
      </p>
    </Page>
  );
}

function SnippetTabs({ label, snippets }: { readonly label: string; readonly snippets: readonly Snippet[] }) {
  return (
    <Tabs defaultValue={snippets[0]?.id}>
      <Tabs.List aria-label={label}>
        {snippets.map((snippet) => (
          <Tabs.Tab key={snippet.id} value={snippet.id}>
            {snippet.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.id} value={snippet.id} pt={12}>
          <div className="stack">
            <p className="muted small">{snippet.hint}</p>
            <CodeBlock code={snippet.code} label={`${snippet.label} snippet`} />
          </div>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
