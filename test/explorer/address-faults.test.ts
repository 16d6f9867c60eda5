/** What the explorer finds wrong in an address. */
import { describe, expect, it } from 'vitest';
import { faultsOf, withoutFaults } from '../../explorer/state/address-faults.js';
import { hashOf, viewOf } from '../../explorer/state/url.js';

/** Of the boards, the browser's tests check the real ones. */
const BOARD = {
  choices: [{ name: 'chain', options: [{ value: 'mainchain' }, { value: 'all' }] }],
  columns: ['score', 'token'],
};
const faultsIn = (hash: string) => faultsOf(hash, hash.startsWith('#/scores') ? BOARD : null);

describe('an address', () => {
  it.each([
    '#/',
    '#/token/So1?window=24h&group=venue&types=cex_spot,cex_perp&venues=x&min_pct=-5.0&max_pct=10',
    '#/token/So1?from=1&to=2&zoom=-60,now&prices=1.00000,2.00000&at=5&side=buy&usd=2500.5&cost=pct&orders=limit,dca&ladder=50&pool=x',
    '#/scores?chain=mainchain&order=-score&find=x',
    '#/compare?tokens=a,b&metric=depth&pct=2&scale=log&window=7d&group=type',
    '#/compare?tokens=a&metric=cost-time&side=buy&usd=5e5&cost=pct',
    '#/nowhere?x=1',
  ])('has no fault: %s', (hash) => {
    expect(faultsIn(hash)).toEqual([]);
  });

  it.each([
    ['#/scores?chain=evm', ['chain'], '#/scores'],
    ['#/scores?chian=all&order=nosuch&find=x', ['chian', 'order'], '#/scores?find=x'],
    ['#/token/So1?window=9d&at=foo&zoom=2,1', ['window', 'at', 'zoom'], '#/token/So1'],
    ['#/token/So1?from=5&prices=1,2&types=cex_spot,dex', ['from', 'prices', 'types'], null],
    [
      '#/token/So1?side=short&usd=-5&cost=eur&ladder=7',
      ['side', 'usd', 'cost', 'ladder'],
      '#/token/So1',
    ],
    ['#/token/So1?at=99999999999&vs=99999999999&axis=pct', ['at', 'vs'], '#/token/So1?axis=pct'],
    ['#/token/So1?at=5&vs=99999999999', ['vs'], '#/token/So1?at=5'],
    ['#/token/So1?side=buy&usd=1e20', ['usd'], '#/token/So1?side=buy'],
    ['#/token/So1?min_pct=50&max_pct=10', ['min_pct', 'max_pct'], '#/token/So1'],
    ['#/compare?tokens=1,2,3,4,5,6,7&metric=x&usd=0', ['tokens', 'metric', 'usd'], null],
  ])('has faults, which a correction removes: %s', (hash, names, corrected) => {
    const faults = faultsIn(hash);
    expect(faults.map(({ name }) => name)).toEqual(names);
    const next = hashOf(withoutFaults(viewOf(hash), faults));
    if (corrected !== null) expect(next).toBe(corrected);
    expect(faultsIn(next)).toEqual([]);
  });
});
