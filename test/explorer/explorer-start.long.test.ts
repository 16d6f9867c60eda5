/** The explorer: keys, addresses, ages, and what the keyboard finds. */
import { describe, expect, it } from 'vitest';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { absoluteTime } from '../../explorer/state/format.js';
import { fathom } from '../support/cli.js';
import { NOW_S } from '../support/service.js';
import {
  at,
  atWithoutKey,
  BARN,
  createdKey,
  directory,
  goTo,
  HOUR,
  ingest,
  key,
  SOL,
  titled,
  url,
  useExplorer,
} from './in-chromium.js';

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('removes the key from the address, and opens with the best token', async () => {
    const page = await atWithoutKey(`#key=${key}`);
    await titled(page, 'SOL').waitFor();
    await page.waitForURL(`**/#/token/${SOL}`);
    for (const name of ['Ladder', 'Score', 'Venues']) await titled(page, name).waitFor();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    expect(await page.content()).not.toContain(key);
    // Landmarks of one name could not be told apart.
    expect(await page.getByRole('region', { name: 'Depth over time' }).count()).toBe(1);
  });

  it('asks for a key, refuses a wrong one, and keeps the right one in this tab, or if chosen in the browser', async () => {
    const page = await atWithoutKey('#/scores');
    const enter = async (text: string) => {
      await page.getByRole('textbox', { name: 'API key' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await titled(page, 'Enter an API key').waitFor();
    // Whatever would not work without a key is hidden.
    expect(await page.getByRole('navigation').count()).toBe(0);
    await enter('fathom_wrong');
    await titled(page, 'This key is not accepted').waitFor();
    const refusal = await page.getByRole('alert').textContent();
    expect(refusal).toContain('The server does not know this key');
    expect(refusal).not.toContain('x-api-key');
    await enter(key);
    await page.getByRole('table').waitFor();
    await page.reload();
    await page.getByRole('table').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${url}/#/scores`);
    await titled(other, 'Enter an API key').waitFor();
    await other.getByRole('checkbox').check();
    await other.getByRole('textbox', { name: 'API key' }).fill(key);
    await other.keyboard.press('Enter');
    await other.getByRole('table').waitFor();
    const third = await page.context().newPage();
    await third.goto(`${url}/#/scores`);
    await third.getByRole('table').waitFor();
    await third.getByRole('button', { name: 'Key and limits' }).click();
    await third.getByRole('button', { name: 'Forget the key' }).click();
    await third.reload();
    await titled(third, 'Enter an API key').waitFor();
    // As printed by npm start.
    await third.goto(`${url}/#key=${key}&remember`);
    await titled(third, 'SOL').waitFor();
    const fourth = await page.context().newPage();
    await fourth.goto(`${url}/#/scores`);
    await fourth.getByRole('table').waitFor();
  });

  it('forgets a remembered key that is revoked, and remembers the one entered in its place', async () => {
    const { id, key: revoked } = await createdKey();
    const page = await atWithoutKey(`#key=${revoked}&remember`);
    await titled(page, 'SOL').waitFor();
    await fathom(['keys', 'revoke', id, '--data', directory]);
    await titled(page, 'This key is not accepted').waitFor();
    await expect.poll(() => page.title()).toBe('API key – Fathom');
    expect(await page.getByRole('button', { name: 'Key and limits' }).count()).toBe(0);
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('key');
    const remembered = () => page.evaluate(`localStorage.getItem('fathom.key')`);
    expect(await remembered()).toBeNull();
    expect(await page.getByRole('checkbox').isChecked()).toBe(true);
    await page.getByRole('textbox', { name: 'API key' }).fill(key);
    await page.keyboard.press('Enter');
    await titled(page, 'SOL').waitFor();
    expect(await remembered()).toBe(key);
    const other = await page.context().newPage();
    await other.goto(`${url}/#/scores`);
    await other.getByRole('table').waitFor();
    // A key of this tab alone is no reason to forget the remembered one.
    await other.goto(`${url}/#key=${revoked}`);
    await titled(other, 'This key is not accepted').waitFor();
    expect(await other.getByRole('checkbox').isChecked()).toBe(false);
    expect(await remembered()).toBe(key);
  });

  it('goes on with the key that another tab remembers once its own has ended', async () => {
    const [first, second] = [await createdKey(), await createdKey()];
    const page = await atWithoutKey(`#key=${first.key}&remember`);
    await titled(page, 'SOL').waitFor();
    await goTo(page, '#/scores');
    await page.getByRole('table').waitFor();
    // As when npm start has made a new key, and its address is opened.
    const other = await page.context().newPage();
    await other.goto(`${url}/#key=${second.key}&remember`);
    await titled(other, 'SOL').waitFor();
    await fathom(['keys', 'revoke', first.id, '--data', directory]);
    const own = () => page.evaluate(`sessionStorage.getItem('fathom.key')`);
    await expect.poll(own).toBe(second.key);
    await page.getByRole('table').waitFor();
    expect(await page.evaluate(`localStorage.getItem('fathom.key')`)).toBe(second.key);
    // And when that is opened later.
    await fathom(['keys', 'revoke', second.id, '--data', directory]);
    await titled(page, 'This key is not accepted').waitFor();
    await page.getByText('open that in any tab, and this one goes on, too').waitFor();
    await titled(other, 'This key is not accepted').waitFor();
    await other.goto(`${url}/#key=${key}&remember`);
    await titled(other, 'SOL').waitFor();
    await page.getByRole('table').waitFor();
    await page.reload();
    await page.getByRole('table').waitFor();
  });

  it('shows ages by the server\u2019s clock, times in UTC or local time, and its keys', async () => {
    const page = await at(HOUR, { timezoneId: 'Asia/Kolkata' });
    await titled(page, 'SOL').waitFor();
    await page.locator('.live').getByText('as of ').waitFor();
    // The market's newest snapshot is minutes old by that clock, and part of a year by this machine's.
    expect(await page.locator('.token-head time').textContent()).toMatch(/^\d+ (s|min) old$/);
    const exact = () => page.locator('.token-head time').getAttribute('title');
    expect(await exact()).toMatch(/ UTC$/);
    await page.getByRole('button', { name: 'UTC', exact: true }).click();
    await expect.poll(exact).toMatch(/ GMT\+5:30$/);
    await page.reload();
    await titled(page, 'SOL').waitFor();
    expect(await exact()).toMatch(/ GMT\+5:30$/);
    await page.getByRole('button', { name: 'Keys of the keyboard' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('find a token').waitFor();
    const version = (await fetch(`${url}/healthz`)).headers.get('x-fathom-version');
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
    await page.getByRole('dialog').getByText(`Fathom ${version}`, { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  it('says that there is no such page, and links back', async () => {
    const page = await at('#/scorez');
    await page
      .getByRole('heading', { name: 'There is no page at this address', level: 1 })
      .waitFor();
    const places = page.getByRole('alert').getByRole('link');
    const views = page.getByRole('navigation').getByRole('link');
    expect(await places.count()).toBe(await views.count());
    await page.getByRole('alert').getByRole('link', { name: 'Scores' }).click();
    await page.getByRole('table').waitFor();
    const refused = page.waitForResponse((reply) => reply.url().includes('/stream/xyz'));
    await goTo(page, '#/token/xyz');
    expect((await refused).status()).toBe(400);
    await page.getByText('expected a base58 mint').waitFor();
    const back = page.getByRole('link', { name: 'one with the best score' });
    expect(await back.getAttribute('href')).toBe('#/');
    // The server responds, but does not know the address.
    expect(await page.getByRole('button', { name: 'Not live' }).count()).toBe(0);
  });

  it('loads a part of the page again if the server was away', async () => {
    const page = await at(HOUR);
    await titled(page, 'SOL').waitFor();
    await page.context().setOffline(true);
    await goTo(page, '#/compare');
    await page.getByText('This part of the page could not be loaded').waitFor();
    const again = page.getByRole('button', { name: 'Try again' });
    const failed = page.waitForEvent('requestfailed');
    await again.click();
    await failed;
    expect(await seriousFindings(page)).toEqual([]);
    await page.context().setOffline(false);
    const search = page.locator('.compared .search');
    await search.waitFor();
    // With its styles.
    expect((await search.boundingBox())?.width).toBe(224);
  });

  it('says that the server has a newer page, and loads it', async () => {
    const page = await at(HOUR);
    await titled(page, 'SOL').waitFor();
    // As after an upgrade: other files, named in another page.
    const isPart = (to: URL): boolean => to.pathname.startsWith('/explorer/board-');
    await page.route(isPart, (route) => route.fulfill({ status: 404 }));
    const isPage = (to: URL): boolean => to.pathname === '/';
    await page.route(isPage, async (route) => {
      const reply = await route.fetch();
      const body = (await reply.text()).replaceAll(/index-[\w-]+\.js/g, 'index-newer.js');
      await route.fulfill({ response: reply, body });
    });
    await goTo(page, '#/scores');
    const reload = page.getByRole('status').getByRole('button', { name: 'Reload' });
    await reload.waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    // A handler that is still fetching ends first.
    await page.unrouteAll({ behavior: 'wait' });
    await reload.click();
    await page.getByRole('table').waitFor();
    expect(await reload.count()).toBe(0);
  });

  it('says what is wrong in an address, and shows the rest', async () => {
    const page = await at('#/token/barn');
    await page.getByText('Is it one of these?').waitFor();
    await page.getByRole('link', { name: 'BARN Barnacle' }).click();
    await titled(page, 'BARN').waitFor();
    // One letter is wrong: the address could be a token's, but no token has it.
    await goTo(page, `#/token/${BARN.slice(0, -1)}${BARN.endsWith('1') ? '2' : '1'}`);
    await page.getByText('This server knows no token with this address').waitFor();
    expect(await page.locator('.score-card').count()).toBe(0);
    const meant = page.getByRole('link', { name: 'BARN Barnacle' }).first();
    const bottom = await meant.evaluate((link) => link.getBoundingClientRect().bottom);
    const said = await page.getByText('Press / to find another').boundingBox();
    expect(bottom - (said?.y ?? 0) - (said?.height ?? 0)).toBeLessThan(100);
    // Ways on: the best tokens, and every view.
    const best = page.getByRole('region', { name: 'Tokens with the best scores:' });
    await best.getByRole('link', { name: 'SOL' }).first().waitFor();
    const ways = page.getByRole('status').getByRole('list').last().getByRole('link');
    const views = page.getByRole('navigation').getByRole('link');
    expect(await ways.count()).toBe(await views.count());
    expect(await seriousFindings(page)).toEqual([]);
    await meant.click();
    await titled(page, 'BARN').waitFor();
    await goTo(page, `#/compare?tokens=xyz,${SOL}`);
    await page.getByText('xyz is left out: address: expected ').waitFor();
    await page.getByText('Remove it, or add a token by its symbol or name.').waitFor();
    await page.locator('.line-chart li').getByText('SOL').waitFor();
    const unknown = `${BARN.slice(0, -3)}abc`;
    for (const metric of ['depth', 'cost', 'cost-time']) {
      await goTo(page, `#/compare?tokens=${SOL},${unknown}&metric=${metric}&window=1h`);
      await page.getByText('is left out: this server knows no token with this address').waitFor();
      await page.locator(':is(.line-chart li, .cost-table tr)').getByText('SOL').waitFor();
      await goTo(page, `#/compare?tokens=${unknown}&metric=${metric}&window=1h`);
      await page.getByText('None of these is a known token').waitFor();
    }
    expect(await page.locator('.compared + .note code').getAttribute('title')).toBe(unknown);
    await page.locator('.token-links a', { hasText: 'SOL' }).first().click();
    await page.locator('.line-chart li').getByText('SOL').waitFor();
    await goTo(page, `${HOUR}&venues=nosuch`);
    await page.getByText('The snapshot has no depth at nosuch.').waitFor();
    // Each of them has depth, but no market is both.
    const none = page.getByText('Nothing in the snapshot matches the chosen types and venues.');
    await goTo(page, `${HOUR}&types=cex_perp&venues=coinbase`);
    await none.waitFor();
    await goTo(page, `${HOUR}&types=cex_spot&venues=coinbase`);
    await none.waitFor({ state: 'detached' });
  });

  it('names no token without a score among the best', async () => {
    const address = `${BARN.slice(0, -3)}xyz`;
    await ingest('tokens', { chain: 'mainchain', address, symbol: 'VOID' });
    const page = await at(`#/token/${address}`);
    await page.getByText('No depth of this token yet').waitFor();
    const best = page.getByRole('region', { name: 'Tokens with the best scores:' });
    await best.getByRole('link').first().waitFor();
    expect(await best.getByRole('link', { name: 'VOID' }).count()).toBe(0);
  });

  it('finds a token with the keyboard', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    await page.keyboard.press('/');
    await page.locator('.search input:focus').waitFor();
    await page.locator('#found-1').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('#found-1[aria-selected=true]').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.locator('#found-0[aria-selected=true]').waitFor();
    await page.keyboard.type('ba');
    // Before the results arrive.
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/#/token/${BARN}`);
    await titled(page, 'BARN').waitFor();
    await page.goBack();
    await page.getByRole('table').waitFor();
  });

  it('keeps what is typed after ctrl+K until the list is loaded, and Enter waits for it', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const page = await at(HOUR, {
      prepare: (tab) =>
        tab.route(/\/explorer\/commands-/, async (route) => {
          await held;
          await route.continue();
        }),
    });
    await titled(page, 'SOL').waitFor();
    await page.keyboard.press('Control+k');
    // The first two are shortcuts of the page.
    await page.keyboard.type('?p barn');
    await page.keyboard.press('Home');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Enter');
    const box = page.getByRole('combobox', { name: 'A token, a view' });
    expect(await box.inputValue()).toBe(' barn');
    expect(await page.getByRole('dialog').count()).toBe(1);
    await page.getByRole('dialog').getByText('Loading the list').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    release();
    await page.waitForURL(`**/#/token/${BARN}`);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('has its tools on a phone, too: the time zone, the keys, and the time of a frozen clock', async () => {
    const page = await at('#/scores', { viewport: { width: 360, height: 740 } });
    await page.getByRole('table').waitFor();
    await page.locator('.as-of', { hasText: `${absoluteTime(NOW_S).slice(0, 16)} UTC` }).waitFor();
    await page.getByRole('button', { name: 'UTC', exact: true }).click();
    await page.getByRole('button', { name: 'Local' }).waitFor();
    await page.getByRole('button', { name: 'Keys of the keyboard' }).click();
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    // Also while the page says that it is not live.
    await page.evaluate(`{
      const texts = [...document.querySelector('.live').childNodes];
      texts.find((one) => one.nodeType === Node.TEXT_NODE).data = 'Not live';
    }`);
    const tools = page.locator('.tools .tool:visible');
    for (const tool of await tools.all()) {
      const { x, width } = (await tool.boundingBox()) ?? { x: -1, width: 0 };
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x + width).toBeLessThanOrEqual(360);
    }
    // No name of a view is clipped.
    const views = page.getByRole('navigation', { name: 'Views' });
    const [inner, outer] = await views.evaluate((nav) => [nav.scrollWidth, nav.clientWidth]);
    expect(inner).toBeLessThanOrEqual(outer);
  });
});
