/** A button that opens a panel below it; Escape and clicks elsewhere close the panel. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface PopoverProps {
  /** What the button shows. */
  label: ComponentChildren;
  /** The panel's name for screen readers. */
  name: string;
  class?: string;
  title?: string;
  children: ComponentChildren;
}

export function Popover({ label, name, class: extra = '', title, children }: PopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  // As soon as the panel is there, and not a moment longer: a second Escape belongs to the page.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const onPointer = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      setOpen(false);
      root.current?.querySelector('button')?.focus();
    };
    document.addEventListener('pointerdown', onPointer);
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('pointerdown', onPointer);
      document.removeEventListener('keydown', onKey);
    };
  }, [isOpen]);
  return (
    <div class="popover" ref={root}>
      <button
        type="button"
        class={`tool ${extra}`}
        aria-expanded={isOpen}
        title={title}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && (
        <div class="panel" role="group" aria-label={name}>
          {children}
        </div>
      )}
    </div>
  );
}
