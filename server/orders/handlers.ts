/** The endpoints of order flow over the orders in memory. */
import { dcaOrdersHandler, type DcaOrdersServices } from './dca-orders-handler.js';
import { limitOrdersHandler, type LimitOrdersServices } from './limit-orders-handler.js';
import { pressureHandler, type PressureServices } from './pressure-handler.js';

/** Makes the handlers that the order books answer. */
export function flowHandlers(services: DcaOrdersServices & LimitOrdersServices & PressureServices) {
  return {
    getDcaPressure: pressureHandler(services),
    getDcaOrders: dcaOrdersHandler(services),
    getLimitOrders: limitOrdersHandler(services),
  };
}
