/** The token of GET /dca-orders and GET /limit-orders over sockets: its record and its chain. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LEG, MINT, OrderService } from './order-service.js';

const UNKNOWN = 'D'.repeat(40);

let service: OrderService;
beforeAll(async () => {
  service = await OrderService.start();
});
afterAll(() => service.stop());

describe('the token of both', () => {
  it.each(['/dca-orders', '/limit-orders'])('%s answers 404 without a record', async (path) => {
    const { status, body } = await service.ask(path, { token_address: UNKNOWN });
    expect(status).toBe(404);
    expect(body.error_code).toBe('token_not_found');
    expect(service.queue.list()).toEqual([]);
    const invalid = await service.ask(path, { token_address: 'x' });
    expect(invalid.body.error_code).toBe('invalid_address');
  });

  it('is on the chain that its address says, where that is served', async () => {
    const refused = await service.dcaOf(LEG);
    expect(refused).toMatchObject({ status: 400, body: { error_code: 'chain_not_supported' } });
    expect(refused.body.supported_chains).toEqual(['mainchain']);
    const evm = await service.dcaOf(MINT, { chain: 'evmchain' });
    expect(evm.body).toMatchObject({ error_code: 'chain_not_supported', chain: 'evmchain' });
    const other = await service.limitOf(MINT, { chain: 'solana' });
    expect(other.body).toMatchObject({ error_code: 'invalid_chain', chain: 'solana' });
    expect((await service.dcaOf(MINT, { chain: 'mainchain' })).status).toBe(200);
  });
});
