/** The explorer: pinned times that the server refuses, and the way back to now. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { absoluteTime, NONE } from '../../explorer/state/format.js';
import { fieldTime } from '../../explorer/state/zone.js';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import { answers, at, goTo, hashOf, HOUR, SOL, titled, useExplorer } from './in-chromium.js';

const TOO_OLD_S = NOW_S - 400 * 86_400;
const PINNED_S = NOW_S - 1800;
const PINNED = `${HOUR}&at=${PINNED_S}`;

/** What the page states of a moment: the price, the numbers of its panels, the part of the map in sight. */
const stated = async (page: Page) => ({
  price: await page.locator('.token-head .price').textContent(),
  panels: await page.locator('.side .card:not(.pinned)').allTextContents(),
  strips: await page.locator('.strip-legend b').allTextContents(),
  view: await page.locator('.heatmap-frame').getAttribute('data-view'),
});

/** Opens a view with a pinned time, and waits until the page states its numbers. */
async function pinned(): Promise<Page> {
  const page = await at(PINNED);
  await page.locator('.heatmap[data-state=ready]').waitFor();
  await page.locator('.strips[data-state=ready]').waitFor();
  await page.locator('.side:not([aria-busy=true]) .score-value').waitFor();
  await page.locator('.depth-chart canvas').waitFor();
  await page.locator('.strip:last-child b', { hasText: '$' }).first().waitFor();
  return page;
}

describe.skipIf(!hasBrowser)('a pinned time', () => {
  useExplorer();

  it('of more than a year ago is refused in the field, and nothing changes', async () => {
    const page = await pinned();
    const before = await stated(page);
    const field = page.getByLabel('Time', { exact: true });
    await field.fill('2020-01-01');
    await field.press('Enter');
    await page.getByText('The API answers about the last 365 days').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(hashOf(page)).toBe(PINNED);
    expect(await stated(page)).toEqual(before);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('that the server refuses: the page shows why, and data of no other moment', async () => {
    const page = await pinned();
    const before = await stated(page);
    await goTo(page, `${HOUR}&at=${TOO_OLD_S}`);
    const card = page.locator('.pinned', { hasText: `Nothing at ${absoluteTime(TOO_OLD_S)}: ` });
    await card.getByText('The API answers about the last 365 days').waitFor();
    const { strips, ...rest } = await stated(page);
    expect(rest).toEqual({ price: NONE, panels: [], view: before.view });
    expect(strips.filter((one) => one !== NONE)).toEqual([]);
    await titled(page, 'SOL').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await card.getByRole('button', { name: 'Back to now' }).click();
    await page.locator('.score-value').waitFor();
    expect(hashOf(page)).toBe(HOUR);
    // After a reload, the page has never shown another moment.
    await goTo(page, `${HOUR}&at=${TOO_OLD_S}`);
    await page.reload();
    await card.waitFor();
    expect(await page.locator('.side .card').count()).toBe(1);
    expect(await page.getByText('Loading the ladder').count()).toBe(0);
    // It names its token nevertheless.
    await page.locator('.token-head .name', { hasText: 'Wrapped SOL' }).waitFor();
    expect(await page.title()).toBe('SOL depth \u2013 Fathom');
  });

  it('whose request fails: the page says so, shows no other moment, and can try again', async () => {
    const page = await pinned();
    const ended = await answers(page, `/score/${SOL}`, {
      status: 501,
      body: '{"error": "internal", "message": "Broken"}',
    });
    await goTo(page, `${HOUR}&at=${NOW_S - 900}`);
    const card = page.locator('.pinned', { hasText: `Nothing at ${absoluteTime(NOW_S - 900)}` });
    await card.waitFor();
    expect((await stated(page)).panels).toEqual([]);
    await ended();
    await card.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.score-value').waitFor();
    await card.waitFor({ state: 'detached' });
  });

  it('ends by Escape once nothing is open and no text box has the focus', async () => {
    const page = await pinned();
    const focused = () => page.evaluate<string>('document.activeElement.tagName');
    const leaves = async (order = '') => {
      await page.keyboard.press('Escape');
      expect(hashOf(page)).toBe(`${PINNED}${order}`);
      expect(await focused()).not.toBe('INPUT');
    };
    const returns = async (order = '') => {
      await page.keyboard.press('Escape');
      await page.locator('.pinned').waitFor({ state: 'detached' });
      expect(hashOf(page)).toBe(`${HOUR}${order}`);
      await goTo(page, PINNED);
      await page.locator('.pinned').waitFor();
    };
    const amount = page.locator('.order-card input');
    await amount.fill('10k');
    await expect.poll(() => hashOf(page)).toBe(`${PINNED}&usd=10000`);
    await leaves('&usd=10000');
    expect(await amount.inputValue()).toBe('10k');
    await returns('&usd=10000');
    const field = page.getByLabel('Time', { exact: true });
    await field.fill('yesterday');
    await leaves();
    expect(await field.inputValue()).toBe(fieldTime(PINNED_S));
    await returns();
    await page.keyboard.press('/');
    await page.locator('#found-0').waitFor();
    await leaves();
    await page.locator('#found').waitFor({ state: 'hidden' });
    await returns();
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('group', { name: 'Export' }).waitFor();
    await leaves();
    expect(await page.getByRole('group', { name: 'Export' }).count()).toBe(0);
    await returns();
    await page.getByRole('button', { name: 'Keys of the keyboard' }).waitFor();
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys
      .getByText('close what is open, or leave a text box; otherwise back to now')
      .waitFor();
    await leaves();
    await keys.waitFor({ state: 'hidden' });
    await returns();
    // No text box.
    await page.getByLabel('Moment').focus();
    await returns();
    await page.locator('.heatmap-frame').focus();
    await returns();
  });
});
