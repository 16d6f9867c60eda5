/** The explorer: a token's map in the page: its labels, and its picture as a file. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { absoluteTime } from '../../explorer/state/format.js';
import { hasBrowser } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import { at, fail, HOUR, useExplorer } from './in-chromium.js';

/** Lets a test read what is written on canvases. */
const NOTE_TEXTS = `{
  window.texts = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    if (!document.contains(this.canvas)) window.texts.push(text);
    return fillText.call(this, text, ...rest);
  };
}`;

describe.skipIf(!hasBrowser)('a token’s map', () => {
  useExplorer();

  it('keeps the label of the pointer off that of the last price', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    // Strips that load change the map's height, and with it the place of the last price.
    await page.locator('.strips[data-state=ready]').waitFor();
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    const price = await priceLabel(page, x + width + 20);
    expect(price.bottom - price.top).toBeGreaterThan(12);
    const label = page.locator('.heatmap-tag-price');
    const middle = (price.top + price.bottom) / 2;
    for (const off of [-30, -19, -10, -1, 0, 1, 10, 19, 30]) {
      await page.mouse.move(x + width / 2, middle + off);
      const line = page.locator('.heatmap-line-price');
      await expect
        .poll(async () => Math.abs(((await line.boundingBox())?.y ?? 0) - middle - off))
        .toBeLessThan(2);
      const { y: top, height: high } = (await label.boundingBox()) ?? fail();
      expect(top >= price.bottom || top + high <= price.top).toBe(true);
      expect(top).toBeGreaterThan(y - high);
      expect(top + high).toBeLessThan(y + height + high);
      // Beside the pointer where there is room.
      if (Math.abs(off) === 30) expect(Math.abs(top + high / 2 - middle - off)).toBeLessThan(2);
    }
  });

  it('has its whole readout in sight, wherever the cursor is', async () => {
    const page = await at(HOUR, { viewport: { width: 1440, height: 900 } });
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.locator('.strips[data-state=ready]').waitFor();
    const readout = page.locator('.heatmap-readout');
    for (const share of [0.02, 0.3, 0.48, 0.52, 0.7, 0.98]) {
      // Strips and notices that load change the map's height.
      await expect
        .poll(async () => {
          const map = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
          await page.mouse.move(map.x + map.width / 3, map.y + share * map.height);
          // With the split, which comes once the cursor rests.
          await readout.locator('tr').nth(2).waitFor();
          const box = (await readout.boundingBox()) ?? fail();
          return box.y >= map.y && box.y + box.height <= map.y + map.height;
        })
        .toBe(true);
    }
  });

  it('as a picture ends with the frozen clock, as the page does', async () => {
    const page = await at(HOUR, { prepare: (tab) => tab.addInitScript(NOTE_TEXTS) });
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const view = await page.locator('.heatmap-frame').getAttribute('data-view');
    // The newest snapshot is drawn until the next one would come.
    const [from, to] = (view ?? fail()).split(' ').map(Number);
    expect(to).toBeGreaterThan(NOW_S);
    await page.getByRole('button', { name: 'Export' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'PNG' }).click();
    await saved;
    const texts = await page.evaluate<string[]>('window.texts');
    expect(texts.find((text) => text.includes(' to '))).toBe(
      `${absoluteTime(from)} to ${absoluteTime(NOW_S)}`,
    );
  });
});

/** The rows of the last price's label on the page, by the pixels of its colour in a column. */
async function priceLabel(page: Page, x: number): Promise<{ top: number; bottom: number }> {
  return page.evaluate(`(() => {
    const canvas = document.querySelector('.heatmap-overlay');
    const { left, top } = canvas.getBoundingClientRect();
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const perPx = canvas.width / canvas.clientWidth;
    const colour = new OffscreenCanvas(1, 1).getContext('2d');
    colour.fillStyle = getComputedStyle(canvas).getPropertyValue('--price').trim();
    colour.fillRect(0, 0, 1, 1);
    const wanted = colour.getImageData(0, 0, 1, 1).data;
    const { data } = copy.getImageData(Math.round((${x} - left) * perPx), 0, 1, canvas.height);
    const isPrice = (row) => [0, 1, 2].every((i) => Math.abs(data[4 * row + i] - wanted[i]) < 9);
    const rows = [...Array(canvas.height).keys()].filter(isPrice);
    return { top: top + rows[0] / perPx, bottom: top + (rows.at(-1) + 1) / perPx };
  })()`);
}
