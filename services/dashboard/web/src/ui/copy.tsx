import { ActionIcon } from '@mantine/core';
import { useState } from 'react';
import { Icon } from './icons.js';
import { useToast } from './toasts.js';

/** How long a button shows that it has copied. */
const COPIED_MS = 1_500;

/** Copies a text; says so aloud. */
export function CopyButton({ text, label, size = 28 }: { text: string; label: string; size?: number }) {
  const [copied, setCopied] = useState(false);
  const toast = useToast();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toast('The browser does not allow copying here: mark the text and copy it yourself.');
      return;
    }
    setCopied(true);
    toast('Copied');
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <ActionIcon variant="subtle" color="gray" size={size} aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={copied ? 'check' : 'copy'} size={16} />
    </ActionIcon>
  );
}

/** A short id with its button. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span className="row fixed" style={{ display: 'inline-flex', gap: 2, verticalAlign: 'middle', maxWidth: '100%' }}>
      <code className="code breakable">{text}</code>
      <CopyButton text={text} label={label} size={24} />
    </span>
  );
}

/** A value in a box, to be copied as a whole. */
export function CopyLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className="copy-line">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </div>
  );
}

/** Lines of a program or file; a single one is wrapped, so that all of it is seen. */
export function CodeBlock({ code, label }: { readonly code: string; readonly label: string }) {
  return (
    <div className={code.trimEnd().includes('\n') ? 'code-block' : 'code-block one-line'}>
      <pre tabIndex={0} aria-label={label}>
        <code>{code}</code>
      </pre>
      <div className="copy">
        <CopyButton text={code} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
