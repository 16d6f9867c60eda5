/** The requests of docs/api.md, as a reader runs them, on the demo market: the replies are those that it shows. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLE_MINTS } from '../../server/api/schemas.js';
import { newKey, serveHere } from '../support/cli.js';
import type { Json } from '../support/conformance.js';
import { demoMarket } from '../support/demo-market.js';
import { hasProgram } from '../support/programs.js';
import { NOW_S } from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { sectionsOf } from './api-sections.js';
import { documentNamed } from './documents.js';

const run = promisify(execFile);
const sections = sectionsOf(documentNamed('docs/api.md'));
/** The processor's arithmetic differs in the last digits. */
const TOLERANCE = 1e-9;
/** It says how much the machine has asked today. */
const CHANGES_DAILY = 'GET /usage';

/** Whether a document shows a reply: the same but for the ends of lists. */
function shows(shown: unknown, sent: unknown): boolean {
  if (typeof shown === 'number' && typeof sent === 'number')
    return Math.abs(shown - sent) <= TOLERANCE * Math.max(1, Math.abs(sent));
  if (typeof shown !== 'object' || shown === null || typeof sent !== 'object' || sent === null)
    return shown === sent;
  if (Array.isArray(shown)) {
    if (!Array.isArray(sent) || shown.length > sent.length) return false;
    return (
      (shown.length > 0 || sent.length === 0) && shown.every((item, i) => shows(item, sent[i]))
    );
  }
  const names = Object.keys(shown);
  if (names.join() !== Object.keys(sent).join()) return false;
  return names.every((name) => shows((shown as Json)[name], (sent as Json)[name]));
}

/** A reply whose figures and days do not matter. */
const withoutFigures = (reply: Json): Json =>
  JSON.parse(JSON.stringify(reply).replace(/\d+/g, '0')) as Json;

it('a shown reply is compared but for the ends of lists', () => {
  const sent = { a: [1, 2], b: { c: 'x', d: null } };
  expect(shows({ a: [1], b: { c: 'x', d: null } }, sent)).toBe(true);
  expect(shows({ a: [], b: { c: 'x', d: null } }, sent)).toBe(false);
  expect(shows({ a: [2], b: { c: 'x', d: null } }, sent)).toBe(false);
  expect(shows({ a: [1, 2, 3], b: { c: 'x', d: null } }, sent)).toBe(false);
  expect(shows({ a: [1], b: { c: 'x' } }, sent)).toBe(false);
  expect(shows({ a: [1], b: { c: 'x', d: 0 } }, sent)).toBe(false);
});

describe.runIf(hasProgram('curl'))("docs/api.md's requests", () => {
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    const directory = await demoMarket();
    const key = await newKey(directory);
    const polling = await newKey(directory);
    const { url } = await serveHere(directory, ['--as-of', String(NOW_S)]);
    env = { ...process.env, FATHOM_URL: url, FATHOM_KEY: key, TOKEN: EXAMPLE_MINTS[0] };
    // The first boards of pools are ready before the depth in their price ranges is read.
    await eventually('price ranges have their depth', async () => {
      const reply = await fetch(`${url}/api/v1/dlmm/${EXAMPLE_MINTS[0]}`, {
        headers: { 'x-api-key': polling },
      });
      return 'rangeYield' in ((await reply.json()) as Json).chips.leaders;
    });
  });

  it.each(sections)('$title', async ({ title, blocks }) => {
    const [request, reply] = blocks;
    const { stdout } = await run('sh', ['-euc', request.text], { env });
    const [shown, sent] = [reply.text, stdout].map((text) => JSON.parse(text) as Json);
    const isShown =
      title === CHANGES_DAILY
        ? shows(withoutFigures(shown), withoutFigures(sent))
        : shows(shown, sent);
    expect(isShown, `it answered ${stdout}`).toBe(true);
  });
});
