/** Shows, on one click, how a number is computed, with the values filled in. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useModule } from '../state/use-module.js';
import type * as Formulas from './formulas.js';

interface HowProps {
  class?: string;
  /** What opens the steps. */
  label?: ComponentChildren;
  /** The steps, one line each. */
  children: (formulas: typeof Formulas) => readonly string[];
}

export function How({ class: extra = '', label = 'How it is calculated', children }: HowProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class={`how ${extra}`} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen && (
        <div class="steps">
          <Steps>{children}</Steps>
        </div>
      )}
    </details>
  );
}

function Steps({ children }: Pick<HowProps, 'children'>) {
  const formulas = useModule(() => import('./formulas.js'));
  if (formulas === null) return null;
  return children(formulas).map((step) => <p key={step}>{step}</p>);
}
