/** docs/decisions: every record is complete, and its index lists it. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { documentNamed } from './documents.js';

const names = readdirSync('docs/decisions').filter((name) => /^\d\d-.+\.md$/.test(name));
const index = documentNamed('docs/decisions/README.md');

it('the index lists every record by its title, in order', () => {
  const listed = [...index.text.matchAll(/\[([^\]]+)\]\((\d\d-[^)]+\.md)\)/g)];
  expect(names.length).toBeGreaterThan(9);
  expect(listed.map(([, , file]) => file)).toEqual(names.toSorted());
  for (const [, title, file] of listed)
    expect(documentNamed(`docs/decisions/${file}`).text.split('\n')[0]).toBe(`# ${title}`);
});

it.each(names)('%s says what was turned down, what it costs and when to look again', (name) => {
  const { text } = documentNamed(`docs/decisions/${name}`);
  const parts = [...text.matchAll(/^\*\*([^*]+)\*\*/gm)].map(([, part]) =>
    part.replace(/[.,]$/, ''),
  );
  for (const part of ['Context', 'Turned down', 'Decision', 'Cost', 'Revisit'])
    expect(parts).toContain(part);
  const words = text.split(/\s+/).length;
  expect(words).toBeGreaterThan(150);
  expect(words).toBeLessThan(340);
});
