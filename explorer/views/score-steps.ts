/** How a score comes about, with a token's own amounts put in: docs/definitions.md#score. */
import type { Score } from '../../client/index.js';

type Explanation = NonNullable<Score['explain']>;

/** Amounts to the cent and points to 4 decimals, so that what is shown adds up. */
export function scoreSteps(
  { support, resistance, components, unrounded }: Explanation,
  score: number,
): string[] {
  const supportCents = Math.round(support * 100);
  const resistanceCents = Math.round(resistance * 100);
  const depth = cents(supportCents + resistanceCents);
  const points = [components.depth.points, components.balance.points].map((one) => one.toFixed(4));
  return [
    `D = ${cents(supportCents)} + ${cents(resistanceCents)} = ${depth}`,
    `Depth = 80 x log10(D / 1,000) / 5, between 0 and 80 = 80 x ${components.depth.value.toFixed(6)} = ${points[0]}`,
    `Balance = 20 x (1 - |${cents(supportCents)} - ${cents(resistanceCents)}| / D) = 20 x ${components.balance.value.toFixed(6)} = ${points[1]}`,
    `Score = ${points[0]} + ${points[1]} = ${unrounded.toFixed(4)}, rounded to ${score.toFixed(1)}`,
  ];
}

function cents(amount: number): string {
  const options = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `$${(amount / 100).toLocaleString('en-US', options)}`;
}
