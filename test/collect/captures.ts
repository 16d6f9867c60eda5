/** The captures of real messages that tests read, by exchange. */
import { shared, type SnapshotRow, TOKEN } from '../storage/import-helpers.js';

export interface Capture {
  exchange: string;
  files: string[];
  symbols: string[];
  /** Flags that the import needs besides. */
  flags?: Record<string, string>;
}

const of = (...names: string[]): string[] => names.map((name) => shared(`cex/captures/${name}`));
const pair = (stem: string): string[] => of(`${stem}_http.log.gz`, `${stem}_ws.log.gz`);

/** Those that Binance's importer does not read. */
export const CAPTURES: Capture[] = [
  {
    exchange: 'bitget',
    files: of('bitget_20220407_ws.log.gz'),
    symbols: ['AVAXUSDT', 'EOSUSDT', 'GOGUSDT', 'STGUSDT'],
  },
  {
    exchange: 'bitmex',
    files: of('bitmex_20210722_ws.log.gz'),
    symbols: ['XBTUSD', 'SOLUSDT', 'ADAUSDT'],
    flags: { 'contract-size': '1' },
  },
  {
    exchange: 'bitstamp',
    files: pair('bitstamp_20220105'),
    symbols: ['ethusd', 'usdtusd', 'xrpeur', 'batbtc'],
  },
  {
    exchange: 'bybit',
    files: of('bybit_linear_20210417_ws.log.gz'),
    symbols: [
      'ADAUSDT',
      'BCHUSDT',
      'DOTUSDT',
      'ETHUSDT',
      'LINKUSDT',
      'LTCUSDT',
      'UNIUSDT',
      'XTZUSDT',
    ],
  },
  {
    exchange: 'bybit',
    files: of('bybit_linear_XRPUSDT_ob500_20241201.ndjson.gz'),
    symbols: ['XRPUSDT'],
  },
  {
    exchange: 'coinbase',
    files: of('coinbase_20210417_ws.log.gz'),
    symbols: ['SKL-USD', 'SKL-BTC', 'SKL-GBP', 'NMR-EUR', 'YFI-BTC'],
  },
  {
    exchange: 'dydx-v3',
    files: of('dydx_v3_20211028_ws.log.gz'),
    symbols: ['ETH-USD', 'UNI-USD', 'CRV-USD', 'LTC-USD'],
  },
  {
    exchange: 'gemini',
    files: of('gemini_20210624_ws.log.gz'),
    symbols: ['FILUSD', 'ANKRUSD', 'ETHEUR', 'BATBTC'],
  },
  { exchange: 'hyperliquid', files: of('hyperliquid_BTC_20250126.stream.gz'), symbols: ['BTC'] },
  {
    exchange: 'kraken',
    files: of('kraken_20210417_ws.log.gz'),
    symbols: ['XMR/USD', 'SC/EUR', 'ADA/XBT', 'ETH/CHF', 'OCEAN/XBT'],
  },
  {
    exchange: 'kraken-futures',
    files: of('kraken_futures_20210722_ws.log.gz'),
    symbols: ['PI_ETHUSD', 'PI_LTCUSD', 'FI_XBTUSD_210924'],
    flags: { 'contract-size': '1' },
  },
  {
    exchange: 'kucoin',
    files: pair('kucoin_20210425'),
    symbols: ['BCHSV-USDT', 'FET-BTC', 'ANKR-BTC', 'NRG-BTC'],
  },
  { exchange: 'okx', files: of('okx_20220513_ws.log.gz'), symbols: ['BTC-USDT'] },
];

/** Those of Binance, which its own importer reads. */
export const BINANCE_CAPTURES: Capture[] = [
  {
    exchange: 'binance',
    files: pair('binance_spot_20211012'),
    symbols: ['NKNUSDT', 'LRCBTC', 'BLZETH', 'RUNEEUR'],
  },
  {
    exchange: 'binance-futures',
    files: pair('binance_usdm_20210722'),
    symbols: ['SUSHIUSDT', 'CTKUSDT', 'AKROUSDT', 'KEEPUSDT'],
  },
];

/** Flags of an import of one symbol, a row a second. */
export const flagsOf = ({ exchange, flags }: Capture, symbol: string) => ({
  ...TOKEN,
  exchange,
  symbol,
  every: '1s',
  ...flags,
});

export const bookOf = ({ markets: [{ book }] }: SnapshotRow) => book;
