/** A button that copies a text and says so. */
import { useEffect, useState } from 'preact/hooks';
import { Icon, type IconName } from '../frame/icon.js';

const CONFIRMED_MS = 1600;

interface CopyButtonProps {
  text: () => string | Promise<string>;
  label: string;
  icon?: IconName;
  /** Whether the label is only for screen readers. */
  iconOnly?: boolean;
}

export function CopyButton({ text, label, icon = 'copy', iconOnly = false }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), CONFIRMED_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (): void => {
    void Promise.resolve(text()).then(copyText).then(setCopied);
  };
  return (
    <button type="button" class={iconOnly ? 'tool icon-only' : 'tool'} title={label} onClick={copy}>
      <Icon name={isCopied ? 'check' : icon} />
      <span class={iconOnly ? 'hidden' : ''}>{isCopied ? 'Copied' : label}</span>
      <span class="hidden" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  );
}

/** @returns whether it worked */
async function copyText(text: string): Promise<boolean> {
  // Browsers provide a clipboard only to pages from https or localhost.
  const { clipboard } = navigator as { clipboard?: Clipboard };
  if (clipboard !== undefined) {
    return clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
}
