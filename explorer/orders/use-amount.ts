/** The text of an amount, which the address gets once it is complete. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { amountOf, amountText } from '../views/amount.js';

/** An amount is complete after a pause in typing. */
const PAUSE_MS = 250;

interface AmountInput {
  text: string;
  setText: (text: string) => void;
  /** Whether it is no amount. */
  isOdd: boolean;
}

/** @param amount that of the address; null: none */
export function useAmount(
  amount: number | null,
  onChange: (amount: number | null) => void,
): AmountInput {
  const [text, setText] = useState(() => amountText(amount));
  // Until the pause ends, the page may have changed: what it changes now counts.
  const latest = useRef({ amount, onChange });
  latest.current = { amount, onChange };
  useEffect(() => {
    const timer = setTimeout(() => {
      const { current } = latest;
      if (amountOf(text) !== current.amount) current.onChange(amountOf(text));
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    // An address, or a step back in the tab's history, has another amount.
    if (amountOf(text) !== amount) setText(amountText(amount));
  }, [amount]);
  return { text, setText, isOdd: text.trim() !== '' && amountOf(text) === null };
}

export const EXPECTED_AMOUNT = 'Expected an amount of USD such as 500000, 500K or 1.5M';
