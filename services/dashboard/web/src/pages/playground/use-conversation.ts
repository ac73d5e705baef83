import type { PlaygroundRequest } from '@gateway/contracts/pages';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { streamChat } from '../../api/stream-chat.js';

export interface Settings {
  readonly model: string;
  readonly system: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

export interface Turn {
  readonly id: number;
  readonly model: string;
  readonly question: string;
  readonly answer: string;
  /** ID of the usage record; null before the gateway responded. */
  readonly requestId: string | null;
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  readonly error: unknown;
}

/** Keeps a conversation with a model. Leaving the page ends the running request. */
export function useConversation(account: string) {
  const client = useQueryClient();
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  const change = (id: number, with_: (turn: Turn) => Partial<Turn>) =>
    setTurns((all) => all.map((turn) => (turn.id === id ? { ...turn, ...with_(turn) } : turn)));

  const send = async (question: string, settings: Settings): Promise<void> => {
    const id = (turns.at(-1)?.id ?? 0) + 1;
    const controller = new AbortController();
    running.current = controller;
    const { model } = settings;
    setTurns((all) => [...all, { id, model, question, answer: '', requestId: null, state: 'running', error: null }]);
    try {
      await streamChat(account, turnOf(turns, question, settings), controller.signal, {
        started: (requestId) => change(id, () => ({ requestId })),
        text: (piece) => change(id, ({ answer }) => ({ answer: answer + piece })),
      });
      change(id, () => ({ state: 'done' }));
    } catch (error) {
      change(id, () => (controller.signal.aborted ? { state: 'stopped' } : { state: 'failed', error }));
    } finally {
      running.current = null;
      void client.invalidateQueries({ queryKey: ['account', account, 'overview'] });
    }
  };

  return {
    turns,
    isRunning: turns.at(-1)?.state === 'running',
    send,
    stop: () => running.current?.abort(),
    clear: () => setTurns([]),
  };
}

/** Builds the request from the whole conversation without failed messages. */
function turnOf(turns: readonly Turn[], question: string, settings: Settings): PlaygroundRequest {
  const said = turns
    .filter(({ answer }) => answer !== '')
    .flatMap((turn) => [
      { role: 'user' as const, content: turn.question },
      { role: 'assistant' as const, content: turn.answer },
    ]);
  const system = settings.system.trim() === '' ? [] : [{ role: 'system' as const, content: settings.system }];
  return {
    model: settings.model,
    messages: [...system, ...said, { role: 'user', content: question }],
    ...(settings.temperature === undefined ? {} : { temperature: settings.temperature }),
    ...(settings.maxTokens === undefined ? {} : { max_tokens: settings.maxTokens }),
  };
}
