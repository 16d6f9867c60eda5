/** Shows, on one click, how a number is computed, with the values filled in. */
import { useState } from 'preact/hooks';
import { useModule } from '../state/use-module.js';
import type * as Formulas from './formulas.js';

interface HowProps {
  /** The steps, one line each. */
  children: (formulas: typeof Formulas) => readonly string[];
}

export function How({ children }: HowProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="how" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>How it is calculated</summary>
      {isOpen && <Steps>{children}</Steps>}
    </details>
  );
}

function Steps({ children }: HowProps) {
  const formulas = useModule(() => import('./formulas.js'));
  if (formulas === null) return null;
  return children(formulas).map((step) => <p key={step}>{step}</p>);
}
