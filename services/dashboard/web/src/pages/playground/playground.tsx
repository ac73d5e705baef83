import { Button, NumberInput, Textarea } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { useModels } from '../../api/queries.js';
import { useCurrent } from '../../layout/current-account.js';
import { Empty } from '../../ui/empty.js';
import { ApiError } from '../../api/request.js';
import type { Advice } from '../../format/advice.js';
import { Icon } from '../../ui/icons.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Card, Page } from '../../ui/page.js';
import { Picker } from '../../ui/picker.js';
import { chooseModels } from '../quick-start/choose-models.js';
import { TurnView } from './turn.js';
import { useConversation } from './use-conversation.js';
import './playground.css';

/** Tries a model by hand: streams its response and shows the cost. */
export function Component() {
  const { account } = useCurrent();
  const models = useModels(account.id);
  const callable = (models.data ?? []).filter(
    ({ kind, prices, allowed }) => kind === 'chat' && prices !== null && allowed,
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const model = chosen ?? (callable.length === 0 ? null : chooseModels(callable).model);
  const [system, setSystem] = useState('');
  const [temperature, setTemperature] = useState<string | number>('');
  const [maxTokens, setMaxTokens] = useState<string | number>(1_000);
  const [text, setText] = useState('');
  const conversation = useConversation(account.id);
  const log = useRef<HTMLDivElement>(null);
  const last = conversation.turns.at(-1);
  useEffect(() => {
    log.current?.scrollTo({ top: log.current.scrollHeight });
  }, [last?.answer.length, conversation.turns.length]);

  const send = () => {
    if (model === null || text.trim() === '' || conversation.isRunning) return;
    setText('');
    void conversation.send(text, {
      model,
      system,
      ...(temperature === '' ? {} : { temperature: Number(temperature) }),
      ...(maxTokens === '' ? {} : { maxTokens: Number(maxTokens) }),
    });
  };
  return (
    <Page
      title="Playground"
      about="Requests are billed like all others and have a separate limit of 10 per minute."
      actions={
        conversation.turns.length > 0 && (
          <Button variant="default" onClick={conversation.clear} disabled={conversation.isRunning}>
            New conversation
          </Button>
        )
      }
    >
      <div className="playground">
        <Card title="Settings">
          <div className="stack">
            <Picker
              label="Model"
              allowDeselect={false}
              data={callable.map(({ id }) => ({ value: id, label: id }))}
              value={model}
              onChange={setChosen}
              placeholder={models.isPending ? 'Loading' : 'No model is usable now'}
            />
            <Textarea
              label="System prompt"
              rows={4}
              maxLength={200_000}
              value={system}
              onChange={(event) => setSystem(event.currentTarget.value)}
            />
            <NumberInput
              label="Temperature"
              description="0 to 2. Leave blank for the model's default."
              min={0}
              max={2}
              step={0.1}
              decimalScale={2}
              value={temperature}
              onChange={setTemperature}
            />
            <NumberInput
              label="Max output tokens"
              description="Also sets the amount that is held for the request"
              min={1}
              max={1_000_000}
              step={100}
              allowDecimal={false}
              value={maxTokens}
              onChange={setMaxTokens}
            />
          </div>
        </Card>
        <section className="card conversation" aria-label="Conversation">
          <div ref={log} className="turns" tabIndex={0} role="log" aria-label="Messages" aria-live="off">
            {conversation.turns.length === 0 ? (
              models.data !== undefined && callable.length === 0 ? (
                <Empty
                  icon="playground"
                  title="No model is usable now"
                  actions={
                    <Button component={Link} to="/billing">
                      Go to billing
                    </Button>
                  }
                >
                  Add funds or subscribe to a plan to use its models.
                </Empty>
              ) : (
                <Empty icon="playground" title="Ask something">
                  The response is streamed. Its cost and request ID appear below it.
                </Empty>
              )
            ) : (
              conversation.turns.map((turn) => <TurnView key={turn.id} account={account.id} turn={turn} />)
            )}
          </div>
          <div className="hidden-text" role="status">
            {conversation.isRunning
              ? 'The model is responding'
              : last?.state === 'done'
                ? `Response: ${last.answer}`
                : ''}
          </div>
          {last?.error != null && (
            <div className="conversation-error">
              <ErrorNotice error={last.error} advice={adviceOfTurn(last.error)} />
            </div>
          )}
          <form
            className="composer"
            onSubmit={(event) => {
              event.preventDefault();
              send();
            }}
          >
            <Textarea
              aria-label="Message"
              placeholder="Message — Enter sends, Shift+Enter is a new line"
              rows={3}
              maxLength={200_000}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
                event.preventDefault();
                send();
              }}
            />
            {conversation.isRunning ? (
              <Button variant="default" leftSection={<Icon name="stop" size={16} />} onClick={conversation.stop}>
                Stop
              </Button>
            ) : (
              <Button
                type="submit"
                leftSection={<Icon name="send" size={16} />}
                disabled={model === null || text.trim() === ''}
              >
                Send
              </Button>
            )}
          </form>
        </section>
      </div>
    </Page>
  );
}

/** Advice for the playground's own limit, which is separate from those of the keys. */
function adviceOfTurn(error: unknown): Advice | undefined {
  if (!(error instanceof ApiError) || error.code !== 'rate_limited') return undefined;
  return {
    title: 'The playground has reached its 10 requests per minute',
    next: 'Wait for the next clock minute. The limit applies only to the playground, not to your keys.',
  };
}
