/** The explorer: the tab's history and the address. */
import { describe, expect, it } from 'vitest';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import { at, BARN, goTo, hashOf, SOL, titled, useExplorer } from './in-chromium.js';

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('opens a page at its top, and returns to where the reader was', async () => {
    const page = await at('#/scores', { viewport: { width: 390, height: 360 } });
    const rows = page.locator('tr.row .token-link');
    await rows.first().waitFor();
    const y = () => page.evaluate<number>('scrollY');
    /** What the tab's history knows of the place. */
    const noted = () => page.evaluate<number | undefined>('history.state?.y');
    // By the wheel: only a reader's move ends the page's own return to its place.
    await page.mouse.wheel(0, 1e6);
    await expect.poll(noted).toBeGreaterThan(150);
    await expect.poll(async () => (await noted()) === (await y())).toBe(true);
    const place = await y();
    // Rows arrive after the page has returned.
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await rows.last().click();
    await page.locator('.strips').waitFor();
    expect(await y()).toBe(0);
    // Otherwise the place moves along with what grows above it.
    await page.evaluate("document.documentElement.style.overflowAnchor = 'none'");
    // A reader's input ends the page's own return to its top.
    await page.keyboard.press('Shift');
    await expect
      .poll(async () => {
        // The page may not be long enough yet.
        await page.evaluate('scrollTo(0, 200)');
        return noted();
      })
      .toBe(200);
    await page.route('**/api/v1/top-scores*', async (route) => {
      await held;
      await route.continue();
    });
    await page.goBack();
    await page.getByText('Loading the board').waitFor();
    release();
    await rows.last().waitFor();
    await expect.poll(y).toBe(place);
    for (const move of [() => page.goForward(), () => page.reload()]) {
      await move();
      await page.locator('.strips').waitFor();
      await expect.poll(y).toBe(200);
    }
    // Another view of the same page stays where it is.
    await page.getByRole('button', { name: '6h', exact: true }).dispatchEvent('click');
    await expect.poll(() => hashOf(page)).toContain('window=6h');
    await expect.poll(y).toBe(200);
  });

  it('names the parts of an address that it ignores, and removes them', async () => {
    const page = await at('#/scores?chain=evm&find=so&order=nosuch');
    await page.getByText('chain=evm: expected mainchain, evmchain or all.').waitFor();
    await page.getByText('order=nosuch: expected a column').waitFor();
    await expect.poll(() => hashOf(page)).toBe('#/scores?find=so');
    // The notice goes with the view.
    await page.getByRole('button', { name: 'All', exact: true }).click();
    const notice = page.getByText('Part of the address was ignored');
    await notice.waitFor({ state: 'detached' });
    await goTo(page, `#/token/${SOL}?window=9d&at=foo&zoom=1,2&group=type`);
    await page.getByText('window=9d: expected 1h, 6h, 24h, 7d, 30d or all.').waitFor();
    await page.getByText('at=foo: expected epoch seconds, not after now.').waitFor();
    await expect.poll(() => hashOf(page)).toMatch(new RegExp(`^#/token/${SOL}[?].*group=type`));
    expect(hashOf(page)).not.toMatch(/window|at=/);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Close' }).click();
    await notice.waitFor({ state: 'detached' });
  });

  it('says that a moment of an address is in the future, and shows now', async () => {
    const later = NOW_S + 60;
    const page = await at(`#/token/${BARN}?window=1h&at=${later}`);
    await page.getByText(`at=${later}: expected epoch seconds, not after now.`).waitFor();
    await page.locator('.score-value').waitFor();
    expect(await page.locator('.pinned').count()).toBe(0);
    expect(hashOf(page)).toBe(`#/token/${BARN}?window=1h`);
  });

  it("returns to the token's view with 'Depth'", async () => {
    const hash = `#/token/${BARN}?window=6h&group=type&types=onchain_pool`;
    const page = await at(hash);
    await titled(page, 'BARN').waitFor();
    await page.getByRole('link', { name: 'Scores' }).first().click();
    await titled(page, 'Scores').waitFor();
    await page.getByRole('link', { name: 'Depth' }).click();
    await titled(page, 'BARN').waitFor();
    expect(hashOf(page)).toBe(hash);
  });
});
