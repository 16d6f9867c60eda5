/** The explorer: a token's page: filters, orders, pinned times, playback. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { ReplayPage, Score, Slippage } from '../../client/index.js';
import { absoluteTime, price, finePercent, signedPercent } from '../../explorer/state/format.js';
import { fieldTime } from '../../explorer/state/zone.js';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import { at, fail, goTo, hashOf, HOUR, replyTo, SOL, titled, useExplorer } from './in-chromium.js';

/** The moment in the page's address. */
const pinnedS = (page: Page) => Number(/[?&]at=(\d+)/.exec(hashOf(page))?.[1] ?? NaN);

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('filters by venue, keeps the view in the address, and goes back and forward', async () => {
    const page = await at(HOUR);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const venue = page.locator('.venues button').first();
    await venue.click();
    await page.waitForURL('**venues=*');
    const chosen = /venues=([\w-]+)/.exec(hashOf(page))?.[1] ?? '';
    await expect
      .poll(() => asked.filter((one) => one.includes(`venues=${chosen}`)).length)
      .toBeGreaterThan(1);
    const curl = await page.locator('.request code').textContent();
    expect(curl).toContain(`venues=${chosen}`);
    expect(curl).toContain('x-api-key: $FATHOM_KEY');
    await page.goBack();
    expect(hashOf(page)).toBe(HOUR);
    await page.goForward();
    await page.locator('.venues button[aria-pressed=true]').waitFor();
  });

  it('has one amount for a venue of a moment, chosen or not', async () => {
    const page = await at(`${HOUR}&at=${NOW_S - 600}`);
    await page.locator('.venues li').first().waitFor();
    const amounts = async (rows: string, label: string) => {
      const texts = await page
        .locator(rows)
        .evaluateAll(
          (all, name) =>
            all.map((one) => [
              one.querySelector(name)?.textContent?.replace('+ ', '') ?? '',
              one.querySelector('.figure')?.textContent ?? '',
            ]),
          label,
        );
      return Object.fromEntries<string>(texts as [string, string][]);
    };
    const all = page.getByRole('button', { name: /^All \d+ venues/ });
    await all.click();
    const panel = await amounts('.venues li', '.label');
    await page
      .locator('.filters')
      .getByRole('button', { name: /^Venues/ })
      .click();
    const menu = page.getByRole('group', { name: 'Venues', exact: true });
    await menu.getByRole('checkbox').first().waitFor();
    const inMenu = await amounts('.filters .choice', 'label span');
    // The menu also has the venues without depth near the price.
    expect({ ...inMenu, ...panel }).toEqual(inMenu);
    expect(Object.keys(panel).length).toBeGreaterThan(8);
    const [first] = Object.keys(panel);
    const ticked = () =>
      menu
        .getByRole('checkbox')
        .evaluateAll((all) => all.filter((one) => one.matches(':checked')).length);
    const count = await menu.getByRole('checkbox').count();
    expect([await ticked(), count > 8]).toEqual([count, true]);
    await menu.getByRole('checkbox', { name: 'Orca' }).uncheck();
    await page.waitForURL('**exclude_venues=orca*');
    expect(await ticked()).toBe(count - 1);
    await page.locator('.filters').getByText('all but 1', { exact: true }).waitFor();
    // Of the snapshot without that venue, as the API counts it.
    await page.locator('.venues .other').getByText('Orca', { exact: false }).waitFor();
    await menu.getByRole('checkbox', { name: 'Orca' }).check();
    await expect.poll(() => new URL(page.url()).hash).not.toContain('venues=');
    await menu.getByRole('button', { name: 'Only Orca' }).click();
    await page.waitForURL('**venues=orca*');
    expect(await ticked()).toBe(1);
    expect(await menu.getByRole('checkbox', { name: 'Orca' }).isDisabled()).toBe(true);
    await page.locator('.venues .other').first().waitFor();
    expect(await amounts('.venues li', '.label')).toEqual(inMenu);
    expect(await page.locator('.venues .other').first().textContent()).toContain(first);
    expect(await amounts('.filters .choice', 'label span')).toEqual(inMenu);
    // Those of a choice without perps, too: the panel also lists the venues that can be added to it.
    await page.getByText('±25%, without perps').waitFor();
    for (const part of [menu, page.locator('.card', { has: page.locator('.venues') })])
      await part.getByText('within 25% of the price, incl. perps').waitFor();
  });

  it('shows what an order costs, with the view’s filter', async () => {
    const page = await at(HOUR);
    const panel = page.locator('.order-card');
    await panel.getByRole('textbox').fill('$250k');
    const asked = async (query: string) => {
      const { quotes } = await replyTo<Slippage>(`/slippage/${SOL}?${query}`);
      // What the order loses, so without a sign.
      return finePercent(Math.abs(quotes[0].slippage_pct ?? NaN) / 100);
    };
    const slippage = panel.locator('dd').nth(1);
    await expect.poll(() => slippage.textContent()).toBe(await asked('side=sell&usd=250000'));
    await panel.getByRole('button', { name: 'Buy' }).click();
    const bought = await asked('side=buy&usd=250000');
    await expect.poll(() => slippage.textContent()).toBe(bought);
    await panel.getByRole('textbox').fill('900b');
    await panel.getByText('The ladder holds only').waitFor();
    await panel.getByRole('textbox').fill('much');
    await panel.getByText('Expected an amount of USD').waitFor();
    await page.getByRole('button', { name: /^All \d+ venues/ }).click();
    expect(await page.locator('.venues li').count()).toBeGreaterThan(8);
    await panel.getByRole('textbox').fill('250k');
    await expect.poll(() => slippage.textContent()).toBe(bought);
    for (const [card, text] of [
      [panel, /^Slippage = average \/ price - 1 = /],
      [page.locator('.card', { has: page.locator('.depth-chart') }), /^Support = .* = \$[\d,.]+$/],
    ] as const) {
      await card.getByText('How it is calculated').click();
      await card.getByText(text).waitFor();
    }
    await page.locator('.score-card').getByText('How it is calculated').click();
    await page.getByText('Perps are left out').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('reads the steps of the ladder with the keys', async () => {
    const page = await at(HOUR);
    const ladder = page.getByRole('slider', { name: 'Ladder' });
    await page.locator('.depth-chart canvas').waitFor();
    const spoken = () => ladder.getAttribute('aria-valuetext');
    const summary = await spoken();
    expect(summary).toMatch(/^Within 25% of \$[\d.,]+: \$[\d.]+[KMB]? of support, /);
    await ladder.focus();
    // The edges of the steps: the price is in the middle of the first one.
    const reading = page.locator('.card', { has: ladder }).locator('.reading');
    for (const [press, distance, side] of [
      ['ArrowRight', 100 * (1.01 ** 0.5 - 1), 'resistance'],
      ['ArrowRight', 100 * (1.01 ** 1.5 - 1), 'resistance'],
      ['ArrowLeft', 100 * (1.01 ** 0.5 - 1), 'resistance'],
      ['ArrowLeft', 100 * (1.01 ** -0.5 - 1), 'support'],
      ['ArrowLeft', 100 * (1.01 ** -1.5 - 1), 'support'],
    ] as const) {
      await page.keyboard.press(press);
      const shown = signedPercent(distance / 100);
      await expect.poll(spoken).toMatch(new RegExp(`of ${side} in between$`));
      await expect.poll(async () => (await spoken())?.split(', ')[0]).toBe(shown);
      await reading.getByText(shown, { exact: true }).waitFor();
    }
    await page.keyboard.press('Escape');
    await expect.poll(spoken).toBe(summary);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('shows now for an address with a future moment, or with a zoom of too long ago', async () => {
    const [from, to] = [NOW_S - 400 * 86_400, NOW_S - 399 * 86_400];
    const page = await at(`#/token/${SOL}?at=${NOW_S + 86_400}&zoom=${from},${to}`);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await titled(page, 'Ladder').waitFor();
    expect(await page.locator('.pinned').count()).toBe(0);
  });

  it('shows a pinned time, clicked or typed, until Escape', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const scoreAt = async (query: string) => {
      const { service_score: score, data_time: t } = await replyTo<Score>(`/score/${SOL}${query}`);
      return { score: score?.toFixed(1), t: t ?? NaN };
    };
    const shown = () => page.locator('.score-value b').textContent();
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    await page.mouse.click(x + 0.3 * width, y + 0.4 * height);
    await page.waitForURL('**at=*');
    const clickedS = pinnedS(page);
    expect(Math.abs(clickedS - (NOW_S - 0.7 * 3600))).toBeLessThan(120);
    const clicked = await scoreAt(`?at=${clickedS}`);
    const pinned = page.locator('.pinned', { hasText: absoluteTime(clicked.t) });
    await pinned.waitFor();
    await expect.poll(shown).toBe(clicked.score);
    // Its line does not run through the readout.
    await page.locator('.heatmap-frame > .heatmap-pin ~ .heatmap-cursor').waitFor();
    const slippages: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/slippage/')) slippages.push(request.url());
    });
    await page.locator('.order-card input').fill('10k');
    await page.locator('.order-card dd').first().waitFor();
    expect(new URL(slippages[0]).searchParams.get('at')).toBe(String(clickedS));
    // Typed in the page's zone; it survives a reload.
    const typedS = clickedS + 600;
    const field = page.getByLabel('Time', { exact: true });
    await field.fill('yesterday noonish');
    await field.press('Enter');
    await page.getByText('Expected a time until now such as yesterday 12:00').waitFor();
    expect(pinnedS(page)).toBe(clickedS);
    await field.fill('50 min ago');
    await field.press('Enter');
    await expect.poll(() => pinnedS(page)).toBe(NOW_S - 3000);
    await expect.poll(() => field.inputValue()).toBe(fieldTime(NOW_S - 3000));
    expect(await page.getByText('Expected a time until now').count()).toBe(0);
    await field.fill(fieldTime(typedS));
    await field.press('Enter');
    await expect.poll(() => pinnedS(page)).toBe(typedS);
    await page.reload();
    const typed = await scoreAt(`?at=${typedS}`);
    await page.locator('.pinned', { hasText: absoluteTime(typed.t) }).waitFor();
    await expect.poll(shown).toBe(typed.score);
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.locator('.pinned').waitFor({ state: 'detached' });
    // The order stays.
    expect(hashOf(page)).toBe(`${HOUR}&usd=10000`);
    const now = await scoreAt('');
    await expect.poll(shown).toBe(now.score);
  });

  it('shows the zoom of an address, with its pinned time in sight or not', async () => {
    const hash = `${HOUR}&zoom=${NOW_S - 1200},${NOW_S - 600}&at=${NOW_S - 3000}`;
    const page = await at(hash);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.getByRole('group', { name: 'Playback' }).waitFor();
    const view = await page.locator('.heatmap-frame').getAttribute('data-view');
    expect(view?.split(' ').slice(0, 2).map(Number)).toEqual([NOW_S - 1200, NOW_S - 600]);
    expect(hashOf(page)).toBe(hash);
    await goTo(page, `${HOUR}&at=1`);
    await page.locator('.pinned > span', { hasText: 'Nothing at' }).waitFor();
    // A time that is typed then is brought into sight.
    const field = page.getByLabel('Time', { exact: true });
    await field.fill(fieldTime(NOW_S - 2400));
    await field.press('Enter');
    await page.locator('.heatmap-pin').first().waitFor();
  });

  it('plays what is in sight, steps and scrubs, and is live again at the end', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const query = 'from=-1h&to=now&group=venue';
    const { snapshots } = await replyTo<ReplayPage>(`/replay/${SOL}?${query}`);
    const times = snapshots.map(({ t }) => t);
    const playback = page.getByRole('group', { name: 'Playback' });
    await playback.waitFor();
    // The first step back is to the newest snapshot.
    for (const [keys, back] of [
      [',', -1],
      [',,', -3],
      ['.', -2],
    ] as const) {
      for (const one of keys) await page.keyboard.press(one);
      await expect.poll(() => pinnedS(page)).toBe(times.at(back));
      const { price_usd: priceUsd } = snapshots.at(back)!;
      await page.locator('.token-head .price', { hasText: price(priceUsd) }).waitFor();
      await page.locator('.side:not([aria-busy=true])').waitFor();
    }
    await playback.getByLabel('Moment').fill('0');
    await expect.poll(() => pinnedS(page)).toBe(times[0]);
    const shown: string[] = [];
    await page.exposeFunction('tell', (time: string) => shown.push(time));
    await page.evaluate(`new MutationObserver(() =>
      tell(document.querySelector('.token-head time').dateTime)
    ).observe(document.querySelector('.token-head'), { subtree: true, attributes: true, attributeFilter: ['datetime'] })`);
    let pages = 0;
    page.on('request', (request) => {
      if (request.url().includes('group=venue')) pages++;
    });
    await playback.getByLabel('Snapshots a second').selectOption('20');
    await playback.getByLabel('Moment').press('p');
    await playback.getByRole('button', { name: 'Pause playback' }).waitFor();
    await page.locator('.pinned').waitFor({ state: 'detached' });
    await playback.getByRole('button', { name: 'Play', exact: true }).waitFor();
    expect(hashOf(page)).toBe(HOUR);
    const played = shown.map((time) => Date.parse(time) / 1000);
    expect(played).toEqual(played.toSorted((a, b) => a - b));
    expect(times).toEqual(expect.arrayContaining(played));
    expect(played.at(-1)).toBe(times.at(-1));
    // Some 48 ladders come with a page; the newest one is requested again.
    expect(pages).toBeLessThanOrEqual(Math.ceil(times.length / 24) + 1);
    expect(await seriousFindings(page)).toEqual([]);
  });
});
