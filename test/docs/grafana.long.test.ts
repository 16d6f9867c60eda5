/**
 * docs/deploy/grafana-liquidity.json without Grafana: its queries are sent to a server as its data source would send
 * them, and jq, whose language their selectors are in, reads the replies.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { newKey, serveHere } from '../support/cli.js';
import type { Json } from '../support/conformance.js';
import { demoMarket } from '../support/demo-market.js';
import { NOW_S } from '../support/service.js';

interface Target {
  refId: string;
  url: string;
  root_selector: string;
  parser: string;
  columns: { selector: string; text: string; type: string }[];
}

const text = readFileSync('docs/deploy/grafana-liquidity.json', 'utf8');
const dashboard = JSON.parse(text) as Json;
const panels = dashboard.panels as Json[];
const variables = dashboard.templating.list as Json[];
const FROM_S = NOW_S - 86_400;

const hasJq = spawnSync('jq', ['--version']).status === 0;
if (!hasJq) console.log('Tests of the Grafana dashboard are skipped: jq is not installed');

/** The rows that a selector finds. */
function selected(reply: string, selector: string): Json[] {
  const { status, stdout, stderr } = spawnSync('jq', ['-c', selector], {
    input: reply,
    encoding: 'utf8',
  });
  expect([status, stderr], selector).toEqual([0, '']);
  return JSON.parse(stdout) as Json[];
}

const isOwn = ({ datasource }: Json): boolean => datasource.uid === '${datasource}';
const targetsOf = (panel: Json): Target[] => panel.targets as Target[];

describe('the liquidity dashboard', () => {
  it('has no key and no address of a server, and reads one reply for several panels', () => {
    expect(text).not.toMatch(/fathom_|x-api-key|https?:/);
    for (const panel of panels.filter((one) => !isOwn(one))) {
      for (const { panelId } of panel.targets as Json[]) {
        const source = panels.find(({ id }) => id === panelId);
        const names =
          source === undefined ? [] : targetsOf(source)[0].columns.map((one) => one.text);
        const field = panel.options?.reduceOptions?.fields as string | undefined;
        if (field !== undefined)
          expect(names.filter((one) => new RegExp(field.slice(1, -1)).test(one))).toHaveLength(1);
        else expect(names.length).toBeGreaterThan(3);
      }
    }
    const known = variables.map(({ name }) => String(name));
    for (const [, name] of text.matchAll(/\$\{(\w+)(?::\w+)*\}/g)) {
      expect([...known, '__from', '__to']).toContain(name);
    }
    const queries = panels.filter(isOwn).flatMap(targetsOf);
    // With the list of tokens: what a key of plan premium may ask at once.
    expect(queries.length + 1).toBeLessThanOrEqual(12);
  });

  it.skipIf(!hasJq).each(['mainchain', 'evmchain'])(
    'gets what its panels show (%s)',
    async (chain) => {
      const directory = await demoMarket();
      const key = await newKey(directory);
      const server = await serveHere(directory, ['--as-of', String(NOW_S)]);
      const values: Record<string, string> = {
        chain,
        side: 'sell',
        usd: '100000',
        '__from:date:seconds': String(FROM_S),
        '__to:date:seconds': String(NOW_S),
      };
      const rowsOf = async ({ url, root_selector, parser, columns }: Target): Promise<Json[]> => {
        expect(parser).toBe('jq-backend');
        const filled = url.replace(/\$\{([\w:]+)\}/g, (_, name: string) => {
          expect(Object.keys(values), name).toContain(name);
          return values[name];
        });
        const reply = await fetch(`${server.url}${filled}`, { headers: { 'x-api-key': key } });
        const body = await reply.text();
        expect([filled, reply.status, body.slice(0, 200)]).toEqual([
          filled,
          200,
          expect.anything(),
        ]);
        const rows = selected(body, root_selector);
        for (const { selector, type } of columns) {
          const found = rows
            .map((row) => row[selector] as unknown)
            .filter((value) => value !== null);
          expect([selector, found.length > 0]).toEqual([selector, true]);
          const kind = type === 'string' ? 'string' : 'number';
          expect([selector, new Set(found.map((value) => typeof value))]).toEqual([
            selector,
            new Set([kind]),
          ]);
          if (type !== 'timestamp_epoch_s') continue;
          expect(found.every((t) => Number(t) > FROM_S - 8 * 86_400 && Number(t) <= NOW_S)).toBe(
            true,
          );
        }
        return rows;
      };

      const tokens = await rowsOf(
        variables.find(({ name }) => name === 'token')?.query.infinityQuery as Target,
      );
      const sol = tokens.find(({ name }) => String(name).startsWith('SOL '));
      values.token = String(sol?.address);
      const own = panels.filter(isOwn);
      expect(own.map(({ type }) => String(type))).toEqual(['timeseries', 'timeseries', 'table']);
      for (const panel of own) {
        for (const target of targetsOf(panel)) {
          const rows = await rowsOf(target);
          expect(rows.length).toBeGreaterThan(0);
          if (target.columns.length > 0) {
            const names = target.columns.map((column) => column.text);
            for (const { matcher } of panel.fieldConfig.overrides as Json[]) {
              const pattern =
                matcher.id === 'byName'
                  ? `^${matcher.options}$`
                  : String(matcher.options).slice(1, -1);
              expect(names.filter((name) => new RegExp(pattern).test(name)).length).toBeGreaterThan(
                0,
              );
            }
            continue;
          }
          // A field for each venue, whatever their names are.
          const { time, ...venues } = rows.at(-1) as Record<string, number>;
          expect(time % 1000 === 0 && time > FROM_S * 1000 && time <= NOW_S * 1000).toBe(true);
          expect(Object.keys(venues)).toContain('constant-product');
          expect(Object.values(venues).every((value) => value >= 0)).toBe(true);
        }
      }
      await server.stop();
    },
  );
});
