/** The groups in which the API's description lists endpoints. */
export const TAGS = [
  { name: 'Scores', description: 'Liquidity scores of tokens.' },
  { name: 'Depth', description: 'Support and resistance by price level, now and over time.' },
  { name: 'Orders', description: 'Orders that wait to be filled.' },
  { name: 'Holders', description: 'What large holders do.' },
  { name: 'Liquidity providing', description: 'Where liquidity earns fees.' },
] as const;

export type Tag = (typeof TAGS)[number]['name'];
